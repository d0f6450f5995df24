"""Two interval tables related by Allen's algebra."""
