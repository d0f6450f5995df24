"""Query texts on the command line: from a file, from standard input as `-`, or in the command itself with `-c`."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from eventide.errors import InputError

# A query has no SELECT; a common table expression stands before one.
_SQL = re.compile(r"\bMATCH_RECOGNIZE\b|\A(?:\s|--.*\n|/\*.*?\*/|\()*(?:SELECT|WITH)\b", re.IGNORECASE | re.DOTALL)
_STDIN = "standard input"


@dataclass(frozen=True, slots=True)
class Text:
    """A query's text, and what messages call it."""

    text: str
    name: str

    @property
    def is_sql(self) -> bool:
        """Whether it is SQL, not the query language.

        >>> Text("-- a chain\\nPATTERN SEQ(A a, B b)", "q").is_sql, Text("SELECT 1", "q").is_sql
        (False, True)
        """
        return _SQL.search(self.text) is not None


def read_query(path: Path | None, inline: str | None) -> Text:
    """The one text that was given."""
    if inline is not None:
        if path is not None:
            raise InputError(f"a query file, '{path}', and -c are both given", hint="leave out one of them")
        return Text(inline, "the query")
    if path is None:
        hint = "a file with one query, - for standard input, or -c TEXT"
        raise InputError("Missing argument 'QUERY_FILE'", hint=hint)
    return Text(read_text("query file", path), _STDIN if str(path) == "-" else str(path))


def read_text(what: str, path: Path) -> str:
    """The text of a file that the user names; of one that is too long no more than that is read."""
    from eventide.lang.parse import MAX_TEXT

    try:
        if str(path) == "-":
            text = sys.stdin.read(MAX_TEXT + 1)
        else:
            with path.open(encoding="utf-8") as file:
                text = file.read(MAX_TEXT + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the {what} '{path}': {reason}") from error
    if len(text) > MAX_TEXT:
        raise InputError(f"the {what} '{path}' is longer than {MAX_TEXT:,} characters", hint="is it the right file?")
    return text
