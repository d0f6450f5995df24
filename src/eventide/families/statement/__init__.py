"""SQL statements around MATCH_RECOGNIZE."""
