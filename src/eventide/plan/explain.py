"""`explain`: one order of sections for every query. A family says what is in some of them, and nothing about the order.

The logical plan is written here, because its nodes are no family's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sqlglot import exp

from eventide.errors import EventideError
from eventide.expressions.types import type_name
from eventide.families.base import Family
from eventide.families.registry import family_of
from eventide.lang.durations import write_length
from eventide.lang.situations import END
from eventide.lang.tree import Length, Span, Strategy
from eventide.lang.write import write_constraint, write_duration, write_windowing, write_within
from eventide.plan.choose import KEYS, Choice
from eventide.plan.logical import Intervals, Join, Logical, Match, Navigation, Scan, Situations, Window
from eventide.plan.needed import near_text
from eventide.plan.physical import Physical, Planned
from eventide.plan.streams import for_stream

TITLES = (
    *("Query", "Logical plan", "Rules applied", "Program", "Conditions", "Operator", "Distribution"),
    *("Plan", "Statement", "Spark's plan", "On a stream"),
)
NO_COLUMNS = "needs the events' columns: pass the events to explain"
STREAM = "spark stream"
Sections: TypeAlias = dict[str, list[str]]  # lines by title
_MEANING = {
    Strategy.ANY: "every event that fits extends a match",
    Strategy.NEXT: "only the earliest event that fits extends a match",
    Strategy.CONTIGUOUS: "the next event of the partition must fit",
}
_JOINS = {
    "inner": "pairs of {0} and {1}",
    "left": "pairs of {0} and {1}, and each {0} that has no {1}, with NULLs",
    "semi": "each {0} that has a {1}",
    "anti": "each {0} that has no {1}",
}
_AS_OF = {
    "backward": "the latest {1} at or before the {0}",
    "forward": "the earliest {1} at or after the {0}",
    "nearest": "the {1} with the least distance from the {0}",
}
_WHOSE = re.compile(r"^a stream cannot run this \w+: ")
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Explanation:
    """What a family contributes; `spec` is one of its own. A method that a family leaves out is inherited."""

    def outline(self, tree: Any, options: Any) -> Sections:
        """What the query alone tells."""
        return {}

    def sections(self, planned: Planned, physical: Physical, learned: Any) -> Sections:
        """What runs; `learned` is what the last run found out."""
        return {"Operator": [physical.spec.family, per_event(physical)]}

    def shared_out(self, spec: Any, engine: str, keys: str) -> str | None:
        """How the work is shared out on "local", "spark" or "spark stream"; None: by the keys alone."""

    def stream_problems(self, physical: Physical) -> list[str]:
        """Why no stream runs the plan, where `on_stream` of the family does not say it."""
        return []

    def kept_on_stream(self, spec: Any) -> list[str]:
        """What the state of a stream holds."""
        return ["keeps the state of its operator"]


def per_event(physical: Physical) -> str:
    """The line on what the SQL engine does."""
    return f"per event   {len(physical.select)} columns from {len(physical.reads)}, computed by the SQL engine"


def cut_at_borders(engine: str) -> str:
    """How matches without a partition column are shared out if each depends on those before it."""
    where = "threads" if engine == "local" else "tasks"
    return (
        f"no partition column; many rows are cut by time for {where}, at rows where matching continues whatever was "
        "matched before; few rows, or no such rows: one"
    )


def in_sections(sections: Mapping[str, Sequence[str]]) -> str:
    """The text: the sections that say something, in the order of all of them."""
    shown = [title for title in TITLES if sections.get(title)]
    return "\n".join("\n".join([title, *(f"  {line}" for line in sections[title])]) for title in shown)


def outlined(family: Family, tree: Any, options: Any, needs: str = NO_COLUMNS) -> str:
    """What a query says without its inputs."""
    found = family.explanation().outline(tree, options)
    plan = [*found.get("Logical plan", []), needs]
    return in_sections({**found, "Query": family.write(tree).splitlines(), "Logical plan": plan})


def explained(
    query: str,
    planned: Planned,
    engine: str,
    chosen: str | None = None,
    learned: Any = None,
    more: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """What a query says over its inputs.

    `engine` is "local", "spark" or "spark stream"; `chosen` is the engine's word on how these events are shared out;
    `learned` is what the last run found out; `more` are sections that the engine has besides.
    """
    sections = {**_understood(query, planned), **{title: list(lines) for title, lines in (more or {}).items()}}
    physical = planned.physical
    if physical is None:
        assert planned.missing is not None
        return in_sections({**sections, "Operator": [f"none: {planned.missing.message}"]})
    family, spec = family_of(physical.spec), physical.spec
    own = family.explanation()
    problems = own.stream_problems(physical) or _refused_on_stream(physical)
    sections |= own.sections(planned, physical, learned)
    sections["On a stream"] = [f"refused: {each}" for each in problems] or own.kept_on_stream(spec)
    if engine == STREAM and problems:
        return in_sections({**sections, "Distribution": [f"{STREAM}: none, because a stream refuses the query"]})
    n_rows = [scan.provided.n_rows for scan in planned.node.scans()]
    seen = "" if None in n_rows else f" ({sum(filter(None, n_rows)):,} events)"
    near = near_text(physical) if engine == "spark" else ""
    sections["Distribution"] = [f"{engine}{seen}: {chosen or _shared_out(own, physical, engine) + near}"]
    if engine == STREAM and physical.intake.layout.distribution:
        sections["On a stream"].append(
            "hot key: all tasks read and filter its events, then one task works on them while those of other buckets "
            f"continue; {family.kept_of_hot_key(spec)}; ev.metrics has the largest bucket's share"
        )
    return in_sections(sections)


def explained_as_joins(query: str, planned: Planned, more: Sections) -> str:
    """What a query says that is run as joins: `more` has the sections on that."""
    return in_sections({**_understood(query, planned), **more})


def _understood(query: str, planned: Planned) -> Sections:
    return {
        "Query": query.splitlines(),
        "Logical plan": list(logical_lines(planned)),
        "Rules applied": list(planned.applied),
    }


def _refused_on_stream(physical: Physical) -> list[str]:
    try:
        for_stream(physical)
    except EventideError as error:
        return [f"{_WHOSE.sub('', error.message)}; {error.hint}"]
    return []


def _shared_out(explanation: Explanation, physical: Physical, engine: str) -> str:
    names = dict(physical.intake.names)
    keys = ", ".join(names.get(name, name) for name in physical.intake.layout.distribution)
    own = explanation.shared_out(physical.spec, engine, keys)
    if own is not None:
        return own
    family = family_of(physical.spec)
    combining = family.combining(physical.spec) if engine == "spark" else None
    if combining is not None:
        why = family.slicing(physical.spec)
        return Choice(KEYS, str(why), exchanged=combining.what).describe(keys) + "; few events in files: one task"
    if not keys:
        one = {"local": "one thread", "spark": "one task"}.get(engine, "one bucket")
        return f"{one}, because there is no partition column"
    return {
        "local": f"partitions by {keys} are shared out over all cores",
        "spark": f"hash of {keys} to buckets, blocks of events exchanged once, one operator per bucket; few events "
        "in files: one task, no exchange",
        STREAM: f"hash of {keys} to buckets, one operator with its own state per bucket",
    }[engine]


# --- the logical plan


def logical_lines(planned: Planned) -> Iterator[str]:
    """The query as bound: where the events come from, what they must fulfil, what comes out."""
    node = planned.node
    if isinstance(node, Match):
        yield from _match_lines(node)
        return
    yield from _scan_lines(node)
    if isinstance(node, Join) and not node.relations:
        yield from _join_lines(node)
    elif isinstance(node, Navigation | Join):
        word = "gap   " if isinstance(node, Intervals) else "window"
        yield f"{word}      {'none' if node.window_us is None else write_length(Length(node.window_us))}"
    if isinstance(node, Join) and node.relations:
        yield f"relation    left {' or '.join(node.relations)} right"
    texts: dict[str, str] = {}
    if isinstance(node, Navigation):
        texts = dict(node.values)
        for name, text in node.conditions:
            yield f"condition   {f'{name}: ' if name else ''}{_one_line(text)}"
    for column in planned.physical.project if planned.physical is not None else ():
        value = f" = {_one_line(texts[column.name])}" if column.name in texts else ""
        yield f"return      {column.name}{value}"


def _scan_lines(node: Logical) -> Iterator[str]:
    for scan, side in zip(node.scans(), ("left ", "right ") if isinstance(node, Join) else ("",), strict=True):
        if scan.ts:
            until = f" to {scan.end}" if scan.end else ""
            yield f"time        {side}{scan.ts}{until} ({_time(scan)})"
        keys = [f"{key.column} DESC" if key.descending else key.column for key in scan.order]
        if not scan.ts or keys[1:]:
            yield f"order       {', '.join(keys) or scan.sequence or 'as the rows come'}"
        elif scan.sequence is not None:
            yield f"order       tied events by {scan.sequence}"
    if not isinstance(node, Join) or node.relations:
        yield f"partition   {', '.join(scan.partition) or 'none: all events together'}"


def _join_lines(node: Join) -> Iterator[str]:
    query, (left, right) = node.tree, (side.name for side in node.tree.sides)
    yield f"equal       {' and '.join(_one_line(key.text) for key in node.keys) or 'nothing: all rows together'}"
    yield f"window      {'none' if query.within is None else write_within(query.within).lower()}"
    yield f"join        {_JOINS[node.kind].format(left, right)}"
    if query.asof is not None:
        yield f"as of       {_AS_OF[query.asof].format(left, right)}{', all that are tied' if query.all_ties else ''}"
    yield from (f"condition   {_one_line(conjunct.text)}" for conjunct in node.conjuncts)
    yield from (f"where       {_one_line(condition.text)}" for condition in node.filters)


def _time(scan: Scan) -> str:
    return type_name(scan.time_type.arrow) + (f", integers in {scan.time_type.unit}" if scan.time_type.unit else "")


def _match_lines(node: Match) -> Iterator[str]:
    tied = f"the order of {node.sequence or 'the columns that are read'}"
    if isinstance(node, Situations | Window):
        ties = f"tied events in {tied}"
    elif node.options.ties == "sequence":
        ties = f"tied events follow in {tied}"
    else:
        ties = "tied events do not follow one another"
    yield f"time        {node.ts} ({_time(node.input)}); {ties}"
    yield f"partition   {', '.join(node.partition) or 'none: all events together'}"
    window = node.query.window
    slide = f", sliding by {write_length(window.slide)}" if window and window.slide else ""
    if isinstance(node, Situations):
        yield f"window      {write_length(window.length) if window else 'none'}"
        yield from _situation_lines(node)
    elif isinstance(node, Window):
        yield f"window      {write_windowing(node.tree.windowing).lower() if node.tree.windowing else 'none'}"
        yield from (f"where       {written(node, conjunct.span)}" for conjunct in node.conjuncts)
    else:
        yield f"strategy    {node.strategy.value}: {_MEANING[node.strategy]}"
        yield f"window      {write_length(window.length) + slide if window else 'none'}"
        for symbol in node.symbols.values():
            marks = (", absent" if symbol.negated else "") + (", repeated" if symbol.repeated else "")
            yield f"condition   {symbol.name}: {readable(node.conditions[symbol.type].tree)}{marks}"
        yield from (f"where       {written(node, conjunct.span)}" for conjunct in node.conjuncts)
    for item in node.items:
        value = readable(item.tree)
        yield f"return      {item.name}" + (f" = {value}" if value != item.name else "")


def _situation_lines(node: Situations) -> Iterator[str]:
    for each in node.tree.define:
        lasts = write_duration(each).lower()
        gap = f", ended by a gap of more than {write_length(each.max_gap)}" if each.max_gap else ""
        yield f"condition   {each.name.text}: {each.condition.text}{gap}" + (f", for {lasts}" if lasts else "")
    yield from (f"relation    {write_constraint(each)}" for each in node.tree.pattern)


def readable(tree: exp.Expr) -> str:
    """The text of a bound tree, quotes only where a name needs them."""
    if isinstance(tree, exp.Struct):
        return "its events, each with all columns"
    copy = tree.copy()
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", _PLAIN.fullmatch(name.name) is None)
    # END is a keyword, so that the parser has another name for it.
    return copy.sql("spark").replace(f"{END}(", "END(")


def written(node: Match, span: Span) -> str:
    """A part of the query as it was written, in one line."""
    return _one_line(node.query.text[span.start : span.end])


def _one_line(text: str) -> str:
    return " ".join(text.split())
