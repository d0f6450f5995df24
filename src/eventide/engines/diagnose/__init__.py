"""Why is there no match? What each partition has of one, and what failed."""
