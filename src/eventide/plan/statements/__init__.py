"""Statements around MATCH_RECOGNIZE: from Spark SQL to DuckDB's text, with the same rows or a refusal."""
