"""Why there is no match: what is asked of the events besides the query itself."""
