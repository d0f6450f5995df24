"""O2: the number of trends of a repeated event, by aggregation in place of self joins.

Events of one time never follow one another, so what matters is how many events c each time has. P+ has one trend for
each choice of at most one event a time, without the empty choice: the product of 1 + c over all times, less 1. P{m} has
the m-th elementary symmetric polynomial of the c, which Newton's identities make of sums of their powers.
"""

from __future__ import annotations

from eventide.lang.tree import Pattern, Repeat, Step, Strategy
from eventide.plan.logical import Match
from eventide.plan.physical import Physical
from eventide.plan.relational.algebra import Events, Extend, Filter, Grouped, Named, Project, Relation, Spread
from eventide.plan.relational.dialects import Dialect
from eventide.plan.relational.steps import TIME, Steps, relates_events
from eventide.plan.windows import slide_of

MOST_COPIES = 4
_COUNT = "a0"
# Elementary symmetric polynomials of sums of powers: p1 is the sum, p2 that of squares.
_SYMMETRIC = {
    0: "1",
    1: "p1",
    2: "(p1 * p1 - p2) / 2",
    3: "(p1 * p1 * p1 - 3 * p1 * p2 + 2 * p3) / 6",
    4: "(p1 * p1 * p1 * p1 - 6 * p1 * p1 * p2 + 3 * p2 * p2 + 8 * p1 * p3 - 6 * p4) / 24",
}


def repeated_step(pattern: Pattern) -> tuple[Step, int, int | None] | None:
    """A step with the bounds of its repetition, where the pattern is nothing else."""
    if isinstance(pattern, Step):
        return pattern, 1, 1
    if isinstance(pattern, Repeat) and isinstance(pattern.part, Step):
        return pattern.part, max(pattern.minimum, 1), pattern.maximum
    return None


def is_counted(plan: Match, physical: Physical | None) -> bool:
    """Whether the query only counts the trends of a repeated event, and compares no events."""
    found = repeated_step(plan.pattern)
    if found is None or physical is None or physical.output_schema is None:
        return False
    _, low, high = found
    measures = [name for name in physical.output_schema.names if name.startswith("a") and name[1:].isdigit()]
    options, window = plan.options, plan.query.window
    return (
        plan.strategy is Strategy.ANY
        and measures == [_COUNT]
        and all(item.tree.sql() == "COUNT(*)" or not item.aggregates for item in plan.items)
        and not any(map(relates_events, plan.conjuncts))
        and (options.ties, options.counts, options.on_overflow) == ("strict", "exact", None)
        and options.origin != "first"
        and plan.query.min_length is None
        and max(low - 1, high or 0) <= MOST_COPIES
        and (window is None or not window.length.in_events)
    )


def count_iterations(plan: Match, physical: Physical, dialect: Dialect) -> Relation:
    """What the operator of trends would return."""
    found = repeated_step(plan.pattern)
    assert found is not None
    step, low, high = found
    names = dict(physical.intake.names)
    keys = tuple(name for name in physical.intake.layout.partition)
    groups = tuple(name for name in keys if physical.output_schema is not None and name in physical.output_schema.names)
    steps = Steps(plan, dialect, {})
    named: list[Named] = [(name, dialect.quoted(names[name])) for name in keys]
    relation: Relation = Events((*named, (TIME, steps.time)), (steps.condition(step.symbol),), steps.kept)
    slide = slide_of(plan)
    windows: tuple[str, ...] = () if slide is None else ("k",)
    if slide is not None:
        last = f"{TIME} - {slide.origin_us}"
        begins = f"{dialect.floor(f'{last} - {slide.length_us}', slide.slide_us)} + 1"
        relation = Spread(relation, "k", begins, dialect.floor(last, slide.slide_us))
    tied = Grouped(relation, (*keys, *windows, TIME), (("n", "count(*)"),))
    whole = dialect.whole
    sums = [(f"p{i}_sum", f"sum({' * '.join([whole('n')] * i)})") for i in range(1, MOST_COPIES + 1)]
    product = [("every", dialect.product("1 + n"))]
    latest = ("latest", f"max({TIME})")
    counted: Relation = Grouped(tied, (*keys, *windows), (*sums, *product, latest))
    counted = Extend(counted, (("trends", _number(dialect, low, high)),))
    total = Grouped(counted, (*groups, *windows), ((_COUNT, "sum(trends)"), ("latest_us", "max(latest)")))
    rows: Relation = Filter(total, (f"{_COUNT} > 0",))
    start = "" if slide is None else f"{slide.origin_us} + k * {slide.slide_us}"
    end = "latest_us" if slide is None else f"({start} + {slide.length_us})"
    result: list[Named] = [(name, name) for name in groups]
    result.append((_COUNT, f"CAST({_COUNT} AS DECIMAL(38, 0))"))
    if slide is not None:
        result.append(("window_start", dialect.time(f"({start})", plan.time_type)))
        result.append(("window_end", dialect.time(end, plan.time_type)))
    return Project(rows, (*result, ("detected_at", dialect.time(end, plan.time_type))))


def _number(dialect: Dialect, low: int, high: int | None) -> str:
    """How many trends there are with so many events."""
    if high is None:
        fewer = " - ".join(_symmetric(dialect, m) for m in range(low))
        return f"every - {fewer}"
    return " + ".join(_symmetric(dialect, m) for m in range(low, high + 1))


def _symmetric(dialect: Dialect, m: int) -> str:
    text = _SYMMETRIC[m]
    for i in range(1, MOST_COPIES + 1):
        text = text.replace(f"p{i}", f"p{i}_sum")
    top, slash, by = text.rpartition(" / ")
    return dialect.divided(top, int(by)) if slash else text
