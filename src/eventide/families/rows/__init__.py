"""MATCH_RECOGNIZE: row patterns of SQL."""
