"""Table functions of windows in a statement: TUMBLE, HOP, CUMULATE and SESSION, as Flink and RisingWave write them.

`TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))`, with or without the outer TABLE; `TUMBLE(t, ts, ...)`;
`TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => ...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from eventide.errors import QueryError, did_you_mean
from eventide.lang.durations import IN_FUNCTION, read_length, write_length
from eventide.lang.rows.names import RowCursor, is_name
from eventide.lang.rows.places import keyword_at, read_alias
from eventide.lang.rows.tree import WindowFunction
from eventide.lang.tokens import Kind, Token
from eventide.lang.tree import Length, Name, Span, Windowing

_MINUTE, _SECONDS = "INTERVAL '1' MINUTE", "INTERVAL '10' SECOND"
# The parameters behind the table and the column of its time, in Flink's order; OFFSET may be left out.
FUNCTIONS = {
    "TUMBLE": ("SIZE", "OFFSET"),
    "HOP": ("SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("STEP", "SIZE", "OFFSET"),
    "SESSION": ("GAP",),
}
_USAGE = {
    "TUMBLE": f"TUMBLE(TABLE t, DESCRIPTOR(ts), {_MINUTE})",
    "HOP": f"HOP(TABLE t, DESCRIPTOR(ts), {_SECONDS}, {_MINUTE}): the slide, then the size",
    "CUMULATE": f"CUMULATE(TABLE t, DESCRIPTOR(ts), {_SECONDS}, {_MINUTE}): the step, then the greatest size",
    "SESSION": "SESSION(TABLE t PARTITION BY (user), DESCRIPTOR(ts), INTERVAL '30' SECOND)",
}
_BEFORE_TABLE = ("FROM", "JOIN", "LATERAL")


def is_window_function(tokens: Sequence[Token], idx: int) -> bool:
    """Whether a call of such a function begins at a token, also of one that there is not."""
    token = tokens[idx]
    if token.kind is not Kind.WORD or not tokens[idx + 1].is_punctuation("(") or not _is_table(tokens, idx):
        return False
    return token.word in FUNCTIONS or _is_meant(tokens, idx + 1)


def _is_table(tokens: Sequence[Token], idx: int) -> bool:
    """Whether a call stands where a table may: behind FROM or JOIN, or behind a comma of FROM."""
    before = _start(tokens, idx) - 1
    if before > 0 and tokens[before].is_punctuation(","):
        before = _list_start(tokens, before)
    is_test = before > 0 and tokens[before - 1].word == "DISTINCT"  # x IS DISTINCT FROM f(y)
    return before >= 0 and keyword_at(tokens, before) in _BEFORE_TABLE and not is_test


def _start(tokens: Sequence[Token], idx: int) -> int:
    """Where a call begins with the TABLE around it."""
    return idx - 2 if idx > 1 and tokens[idx - 1].is_punctuation("(") and tokens[idx - 2].word == "TABLE" else idx


def _list_start(tokens: Sequence[Token], comma: int) -> int:
    """The FROM of the list that a comma stands in; -1 where it is another list."""
    depth = 0
    for at in range(comma - 1, -1, -1):
        depth += (tokens[at].text in (")", "]")) - (tokens[at].text in ("(", "["))
        if depth < 0 or (depth == 0 and keyword_at(tokens, at) in ("SELECT", "WHERE", "BY", "HAVING", "ON")):
            return -1
        if depth == 0 and keyword_at(tokens, at) == "FROM":
            return at
    return -1


def _is_meant(tokens: Sequence[Token], opening: int) -> bool:
    """Whether the arguments of a call are those of a table function: TABLE t, or DESCRIPTOR(ts).

    A function of somebody's may take INTERVAL, so then its name must be like one of ours.
    """
    is_like = bool(get_close_matches(tokens[opening - 1].word, FUNCTIONS, n=1, cutoff=0.7))
    depth = 0
    for at in range(opening, len(tokens) - 1):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if depth == 0:
            break
        if depth == 1 and tokens[at].word == "DESCRIPTOR" and tokens[at + 1].is_punctuation("("):
            return True
        if depth == 1 and tokens[at].word == "INTERVAL" and is_like:
            return True
    return tokens[opening + 1].word == "TABLE" and is_name(tokens[opening + 2])


@dataclass(frozen=True, slots=True)
class _Argument:
    """The tokens of an argument, and the one behind it."""

    tokens: tuple[Token, ...]
    after: Token

    @property
    def span(self) -> Span:
        return Span(self.tokens[0].start, self.tokens[-1].end) if self.tokens else self.after.span

    def cursor(self, text: str) -> RowCursor:
        return RowCursor(text, (*self.tokens, self.after), IN_FUNCTION)


def read_function(text: str, tokens: Sequence[Token], partner: dict[int, int], idx: int) -> WindowFunction:
    """The call at a token, with its alias."""
    name, called = tokens[idx].word, tokens[idx]
    if name not in FUNCTIONS:
        hint = did_you_mean(name, FUNCTIONS)
        raise QueryError(f"unknown table function '{called.text}'", text, called.start, called.end, hint=hint)
    start, close = _start(tokens, idx), partner[idx + 1]
    arguments = _arguments(text, tokens[idx : close + 1])
    if start != idx:
        close += 1
        if partner[start + 1] != close:
            message = f"expected ')' behind {name}(...), found {tokens[close]}"
            raise QueryError(message, text, tokens[close].start, tokens[close].end, hint=f"write TABLE({name}(...))")
    relation, partition_by = _data(text, name, arguments["DATA"])
    alias, columns, end = read_alias(text, tokens, partner, close)
    lengths = {key: _length(text, name, key, arguments[key]) for key in FUNCTIONS[name] if key in arguments}
    return WindowFunction(
        name=name,
        relation=text[relation.start : relation.end],
        relation_span=relation,
        column=_time_column(text, name, arguments["TIMECOL"]),
        windowing=_windowing(text, name, lengths),
        offset=lengths["OFFSET"].amount if "OFFSET" in lengths else 0,
        partition_by=partition_by,
        alias=alias,
        columns=columns,
        span=Span(tokens[start].start, tokens[end].end),
    )


def _arguments(text: str, call: Sequence[Token]) -> dict[str, _Argument]:
    """The arguments of a call by their names; those without a name come in order."""
    name = call[0].word
    known = ("DATA", "TIMECOL", *FUNCTIONS[name])
    found: dict[str, _Argument] = {}
    for position, argument in enumerate(_split(call)):
        key = _named(argument)
        if key is not None:
            if key.word not in known:
                message = f"{name} has no argument '{key.text}'"
                raise QueryError(message, text, key.start, key.end, hint=did_you_mean(key.text, known))
            if key.word in found:
                raise QueryError(f"{key.word} is given twice", text, key.start, key.end, hint="remove one")
            found[key.word] = _Argument(argument.tokens[3:], argument.after)
        elif position >= len(known):
            span = argument.span
            raise QueryError(f"too many arguments for {name}", text, span.start, span.end, hint=_usage(name))
        else:
            if len(found) > position or known[position] in found:
                hint = "arguments without a name come first"
                raise QueryError("this argument needs a name", text, argument.span.start, argument.span.end, hint=hint)
            found[known[position]] = argument
    missing = [key for key in known if key != "OFFSET" and (key not in found or not found[key].tokens)]
    if missing:
        if "TIMECOL" not in missing and "TIMECOL" in found:
            _time_column(text, name, found["TIMECOL"])
        what = {"DATA": "a table", "TIMECOL": "the column of its time"}.get(missing[0], f"its {missing[0].lower()}")
        raise QueryError(f"{name} needs {what}", text, call[0].start, call[-1].end, hint=_usage(name))
    return found


def _usage(name: str) -> str:
    return f"write {_USAGE[name]}"


def _split(call: Sequence[Token]) -> list[_Argument]:
    """What stands between the commas of a call."""
    parts: list[_Argument] = []
    depth, start = 0, 2
    for at in range(2, len(call)):
        is_last = at == len(call) - 1
        if is_last or (depth == 0 and call[at].is_punctuation(",")):
            parts.append(_Argument(tuple(call[start:at]), call[at]))
            start = at + 1
        depth += (call[at].text in ("(", "[")) - (call[at].text in (")", "]"))
    return parts if len(parts) > 1 or parts[0].tokens else []


def _named(argument: _Argument) -> Token | None:
    """The name of `SIZE => INTERVAL ...`."""
    tokens = argument.tokens
    is_arrow = len(tokens) > 2 and tokens[1].text == "=" and tokens[2].text == ">"
    return tokens[0] if is_arrow and tokens[0].kind is Kind.WORD else None


def _data(text: str, name: str, argument: _Argument) -> tuple[Span, tuple[Name, ...]]:
    """Where the table stands, and the columns of PARTITION BY."""
    cursor = argument.cursor(text)
    cursor.accept_word("TABLE")
    first = cursor.next
    if cursor.ended or not (is_name(first) or first.text == "(") or first.word in ("DESCRIPTOR", "INTERVAL"):
        cursor.fail(f"expected a table, found {first}", hint=_usage(name))
    depth, last = 0, first
    while not cursor.ended and not (depth == 0 and cursor.at_word("PARTITION")):
        depth += cursor.at("(") - cursor.at(")")
        last = cursor.take()
    partition_by: tuple[Name, ...] = ()
    if word := cursor.accept_word("PARTITION"):
        if name != "SESSION":
            cursor.fail(f"PARTITION BY belongs to SESSION, not to {name}", at=word, hint="GROUP BY groups the windows")
        if not cursor.accept_word("BY"):
            cursor.fail(f"expected BY after PARTITION, found {cursor.next}", hint="write PARTITION BY user")
        bracket = cursor.accept("(")
        partition_by = cursor.names()
        if bracket:
            cursor.expect(")", "after the columns of PARTITION BY")
        cursor.finish("the columns of PARTITION BY")
    return Span(first.start, last.end), partition_by


def _time_column(text: str, name: str, argument: _Argument) -> Name:
    """`DESCRIPTOR(ts)`, or `ts` alone."""
    cursor = argument.cursor(text)
    called = cursor.accept_word("DESCRIPTOR")
    bracket = cursor.accept("(") if called else None
    is_column = is_name(cursor.next) and not cursor.at_word("INTERVAL") and not cursor.ended
    if (called and not bracket) or not is_column:
        message = f"expected the column of the time, DESCRIPTOR(ts), found {argument.tokens[0]}"
        cursor.fail(message, argument.span, _usage(name))
    column = cursor.column("a column")
    if cursor.at(",") or cursor.at("."):
        cursor.fail(f"a time is one column, found {cursor.next}", hint="write DESCRIPTOR(ts)")
    if bracket:
        cursor.expect(")", "after the column")
    cursor.finish("the column of the time", hint=_usage(name))
    return column


def _length(text: str, name: str, key: str, argument: _Argument) -> Length:
    """A length, which is positive unless it moves the windows: INTERVAL '-5' MINUTE."""
    tokens, sign = argument.tokens, 1
    for at, token in enumerate(tokens[:2]):
        written = token.value.lstrip() if token.kind is Kind.STRING else token.text
        if written.startswith("-"):
            if key != "OFFSET":
                span = argument.span
                message = f"the {key.lower()} of {name} must be positive"
                raise QueryError(message, text, span.start, span.end, hint="remove the '-'")
            rest = (Token(Kind.STRING, f"'{written[1:]}'", token.start, token.end),) if len(written) > 1 else ()
            tokens, sign = (*tokens[:at], *rest, *tokens[at + 1 :]), -1
            break
    cursor = _Argument(tokens, argument.after).cursor(text)
    length = read_length(cursor)
    if length.in_events:
        message = f"the windows of {name} are windows of time"
        cursor.fail(message, at=length.span, hint="WITHIN 100 EVENTS is of the query language: ev.query(...)")
    cursor.finish(f"the {key.lower()} of {name}", hint=_usage(name))
    return Length(sign * length.amount, False, length.span)


def _windowing(text: str, name: str, lengths: dict[str, Length]) -> Windowing:
    if name == "SESSION":
        return Windowing("session", lengths["GAP"], None, lengths["GAP"].span)
    size = lengths["SIZE"]
    if name == "TUMBLE":
        return Windowing("time", size, None, size.span)
    step = lengths["SLIDE" if name == "HOP" else "STEP"]
    if name == "CUMULATE" and size.amount % step.amount:
        message = f"{write_length(size)} is not a whole number of steps of {write_length(step)}"
        hint = "the step comes first, then the greatest size, which ends the last window"
        raise QueryError(message, text, step.span.start, step.span.end, hint=hint)
    span = Span(min(size.span.start, step.span.start), max(size.span.end, step.span.end))
    return Windowing("time" if name == "HOP" else "growing", size, step, span)
