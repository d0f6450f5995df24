"""The fixture files of MATCH_RECOGNIZE; a text is a statement if it holds the word MATCH_RECOGNIZE, or a clause."""

from __future__ import annotations

from eventide.lang.rows import parse_clause, parse_statement, write_clause
from eventide.lang.rows.tree import RowQuery, Statement
from tests.lang.corpus import read_pairs

VALID = read_pairs("rows_valid.txt")
INVALID = read_pairs("rows_invalid.txt")


def read(text: str) -> RowQuery | Statement:
    return parse_statement(text) if "MATCH_RECOGNIZE" in text.upper() else parse_clause(text)


def canonical(read: RowQuery | Statement) -> str:
    """The clause as written, or of each clause in a statement what stands around it and its text."""
    if isinstance(read, RowQuery):
        return write_clause(read)
    texts = []
    for found in read.recognitions:
        clause = write_clause(found.clause)
        texts.append(f"[{found.relation}] MATCH_RECOGNIZE (\n{clause}\n) AS [{found.alias}] {list(found.columns)}")
    return "\n".join(texts)
