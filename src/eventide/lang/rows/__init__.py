"""SQL:2016 row pattern recognition: the MATCH_RECOGNIZE clause, and statements that hold some."""

from eventide.lang.rows.parse import parse_clause
from eventide.lang.rows.statement import parse_statement
from eventide.lang.rows.write import write_clause

__all__ = ["parse_clause", "parse_statement", "write_clause"]
