"""What users call to join rows that are near each other in time: `ev.join(...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

import pyarrow as pa

from eventide.api.pairs import Pairs, window_us
from eventide.api.query import Inputs
from eventide.engines.local.sources import Source
from eventide.errors import EventideError, QueryError
from eventide.lang import parse, parse_scalar
from eventide.lang.tree import JoinQuery, Length, Within
from eventide.lang.write import write_name, write_within
from eventide.plan.arguments import LEFT_OUT, LeftOut, check_dict, check_flag, names_of, one_of, wrong_argument
from eventide.plan.options import Options
from eventide.plan.physical import Physical

Lengths = str | timedelta | tuple[str | timedelta, str | timedelta] | None
_KINDS = ("inner", "left", "semi", "anti")
_DIRECTIONS = ("backward", "forward", "nearest")
_WITHIN = 'within="15 minutes", or within=("5 minutes", "1 minute")'


def join(
    left: Any = LEFT_OUT,
    right: Any = LEFT_OUT,
    *,
    on: str | Sequence[str] | Mapping[str, str] = (),
    within: Lengths = None,
    after: bool = False,
    how: str = "inner",
    asof: str | None = None,
    where: str | None = None,
    select: Mapping[str, str] | None = None,
    ties: str | None = None,
    ts: str | tuple[str, str] | None = None,
    ts_unit: str | None = None,
    sequence: str | tuple[str, str] | None = None,
    on_bad_event: str | None = None,
    allowed_lateness: Any = None,
    close_at_end: bool | None = None,
    engine: str | None = None,
    spark: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    """Pairs of a left and a right row with equal columns `on` and times less than `within` apart.

    `on` is a column of both, several, or a dict from left to right ones. `within` may be a pair: how long before the
    left row the right one may be, and how long after it. With `after=True` the right row comes after the left one.
    `how` is "inner", "left", "semi" or "anti". `asof="backward"` takes for each left row the latest right one at or
    before it, "forward" the earliest at or after it, "nearest" the nearest of both; `ties="all"` takes all that are
    tied. `where` is a condition on the two rows, such as "right.amount > left.amount". A row of the result has the
    columns of `on`, all others as `left_...` and `right_...`, or those of `select`, and `detected_at`.

    Without tables the result is the `Query`. Its `run(left=..., right=...)` returns the rows.

    >>> import eventide as ev
    >>> orders = [{"id": 1, "ts": 10, "total": 5}, {"id": 2, "ts": 20, "total": 7}]
    >>> payments = [{"id": 1, "ts": 14, "paid": 5}, {"id": 2, "ts": 90, "paid": 7}]
    >>> ev.join(orders, payments, on="id", within="1 minute", ts_unit="s").to_pylist()
    [{'id': 1, 'left_ts': 10, 'left_total': 5, 'right_ts': 14, 'right_paid': 5, 'detected_at': 14}]
    >>> ev.join(orders, payments, on="id", within="1 minute", how="anti", ts_unit="s").to_pylist()
    [{'id': 2, 'ts': 20, 'total': 7, 'detected_at': 80}]
    """
    one_of("how", how, _KINDS)
    if asof is not None:
        one_of("asof", asof, _DIRECTIONS)
    check_flag("after", after)
    if after and asof is not None:
        raise EventideError("after=True and asof exclude each other", hint='write asof="forward"')
    all_ties = _takes_all(ties, asof)
    words = [how, *(() if asof is None else ("asof", asof)), *(("all",) if all_ties else ())]
    lines = [f"FROM `left` {' '.join(words).upper()} JOIN `right`"]
    conditions = [*_equalities(on), *([_where(where)] if where is not None else [])]
    if conditions:
        lines[0] += f" ON {' AND '.join(conditions)}"
    if within is not None:
        lines.append(f"WITHIN {write_within(_within(within, after, asof))}")
    elif after:
        raise EventideError("after=True needs within", hint='write within="15 minutes", after=True')
    if select is not None:
        lines.append(f"RETURN {', '.join(_selected(select))}")
    text = "\n".join(lines)
    tree = parse(text)
    assert isinstance(tree, JoinQuery)
    options = Options.for_query(
        tree,
        ts=_per_side("ts", ts),
        ts_unit=ts_unit,
        sequence=_per_side("sequence", sequence),
        ties=None if asof is not None else ties,
        on_bad_event=on_bad_event,
        allowed_lateness=allowed_lateness,
        close_at_end=close_at_end,
    )
    query = Joined("joins", text, tree, options)
    if isinstance(left, LeftOut) and isinstance(right, LeftOut):
        return query
    given = {name: side for name, side in (("left", left), ("right", right)) if not isinstance(side, LeftOut)}
    return query.run(**given, engine=engine, spark=spark, memory_limit=memory_limit)


class Joined(Pairs):
    """A join; its inputs are called as in FROM. A join of an input with itself takes that one."""

    what: ClassVar[str] = "inputs"
    tree: JoinQuery

    @property
    def usage(self) -> str:  # type: ignore[override]
        return ", ".join(dict.fromkeys(f"{name}=..." for name in self._names))

    @property
    def _names(self) -> tuple[str, str]:
        return self.tree.left.source.text, self.tree.right.source.text

    def _where(self, method: str, events: Any, inputs: Inputs, engine: str | None) -> tuple[Any, dict[str, Any], bool]:
        names = set(self._names)
        if events is not None and ("events" in names or (len(names) == 1 and not inputs)):
            name = "events" if "events" in names else names.pop()
            events, inputs = None, {name: events, **inputs}
        return super()._where(method, events, inputs, engine)

    def _opened(self, events: Any, inputs: Inputs) -> tuple[Source, Physical]:
        # A reader is read once, and both sides may be the same.
        readers = {id(each): each.read_all() for each in inputs.values() if isinstance(each, pa.RecordBatchReader)}
        return super()._opened(events, {name: readers.get(id(each), each) for name, each in inputs.items()})


def _takes_all(ties: object, asof: str | None) -> bool:
    if ties is None:
        return False
    choices = ("strict", "sequence") if asof is None else ("last", "all")
    return one_of("ties", ties, choices, "" if asof is None else ", of right rows that are as near") == "all"


def _equalities(on: object) -> list[str]:
    usage = 'on="id", on=["user", "shop"], or on={"id": "order_id"}'
    if isinstance(on, Mapping):
        check_dict("on", on, usage)
        pairs = list(on.items())
    else:
        pairs = [(name, name) for name in names_of("on", on, usage)]  # type: ignore[arg-type]
    return [f"left.{_quoted(one)} = right.{_quoted(two)}" for one, two in pairs]


def _quoted(name: str) -> str:
    return write_name(name) if name else "``"


def _where(where: object) -> str:
    if not isinstance(where, str):
        raise wrong_argument("where", "text", where, 'where="right.amount > left.amount"')
    return f"({_checked('where', where)})"


def _checked(argument: str, text: str) -> str:
    """An expression that is one on its own, so that it stays one inside of a query."""
    try:
        return parse_scalar(text).line
    except QueryError as error:
        raise QueryError(f"{argument}: {error.message}", error.text, error.start, error.end, hint=error.hint) from None


def _selected(select: object) -> list[str]:
    check_dict("select", select, 'select={"paid": "right.amount"}')
    assert isinstance(select, Mapping)
    if not select:
        raise EventideError("select names no column", hint="leave it out for all columns")
    return [f"{_checked(f'select[{name!r}]', text)} AS {write_name(name)}" for name, text in select.items()]


def _within(within: object, after: bool, asof: str | None) -> Within:
    if not isinstance(within, tuple | list):
        length = Length(window_us("within", within, _WITHIN))
        return Within(None if after else length, length)
    if len(within) != 2:
        raise wrong_argument("within", "one length or two", within, _WITHIN)
    if after or asof is not None:
        told = "after=True" if after else f"asof={asof!r}"
        raise EventideError(f"two lengths of within and {told} exclude each other", hint="give one length")
    before, behind = (Length(window_us("within", each, _WITHIN)) for each in within)
    return Within(before, behind)


def _per_side(argument: str, given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, tuple | list) or len(given) != 2 or not all(isinstance(name, str) for name in given):
        raise wrong_argument(argument, "the name of a column, or of one for each input", given, f'{argument}="ts"')
    return ", ".join(given)
