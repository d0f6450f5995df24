"""An event pattern to its executable form: program, masks, tests, and where each result column comes from."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.split import EventValue, Split, Test, split
from eventide.families.events.automaton import MAX_POSITIONS, Links, TooLargeError, compile_pattern, symbols_in
from eventide.families.events.closing import ClosingTest, bind_closing, is_closing
from eventide.families.events.lower_sequence import APART, of_events, told_apart
from eventide.families.events.program import PatternProgram
from eventide.families.events.spec import PatternSpec, Returned
from eventide.families.events.tests import write_pattern_tests
from eventide.lang.nodes import every_node
from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Step
from eventide.plan.columns import MAX_STEPS, Columns, check_ties, columns_of_plan, conditions_of, of_plan
from eventide.plan.lengths import most_events
from eventide.plan.logical import Item, Match
from eventide.plan.needed import needed_of
from eventide.plan.one_match import ENDS, MATCH_END, MATCH_START, is_array
from eventide.plan.physical import Physical, SqlColumn
from eventide.plan.places import error_at
from eventide.plan.references import never_adjacent, sides_of, walk_steps
from eventide.plan.results import added_columns, added_fields, project_columns, project_item, renamed
from eventide.plan.windows import check_windows, time_unit_us
from eventide.runtime.block import TS


def lower_pattern(plan: Match, engine: str) -> Physical:
    """The executable form; `engine` "local" needs every expression on the allow-list."""
    check_windows(plan)
    check_ties(plan)
    query = plan.query
    steps = distinct_steps(plan.pattern)
    if len(steps) > MAX_STEPS:
        raise error_at(query, steps[MAX_STEPS].span, f"a pattern has at most {MAX_STEPS} symbols")
    parts, values, closing = split_conjuncts(plan)
    program = make_program(plan, parts, closing)
    _check_adjacent(plan, parts.tests, program)
    columns = columns_of_plan(plan, engine)
    value_names = [columns.add_value(value) for value in values]
    told = told_apart(plan, columns)
    returned, project, output = _results(plan, program, columns)
    numbers = {symbol: i for i, symbol in enumerate(program.symbols)}
    tests_source, encodings = write_pattern_tests(parts.tests, closing, values, value_names, numbers)
    spec = PatternSpec(
        program=program,
        unit_us=time_unit_us(plan.time_type),
        returned=returned,
        encodings=encodings,
        tests_source=tests_source,
        min_length=query.min_length or 1,
        **of_events(plan, columns, told),
    )
    masks = columns.masks(conditions_of(plan, steps, parts))
    needs_end = program.waits and query.window is not None and not plan.options.close_at_end
    # A match is decided some windows after its first event, and by events some windows before that.
    needed = needed_of(plan, steps, columns.wanted_by_step, max(spec.kept_us, spec.delay_us + 1))
    return columns.physical(spec, masks, project, output, needs_end=needs_end, needed=needed, **of_plan(plan))


def distinct_steps(pattern: Pattern) -> list[Step]:
    """One step for every symbol, negated ones too; their order is the order of the mask's bits."""
    steps: dict[str, Step] = {}
    for step, _, _ in walk_steps(pattern):
        steps.setdefault(step.symbol, step)
    return list(steps.values())


def split_conjuncts(plan: Match) -> tuple[Split, list[EventValue], list[ClosingTest]]:
    """The conjuncts without aggregates, split; the values of all; and those with aggregates."""
    plain = [conjunct for conjunct in plan.conjuncts if not is_closing(conjunct)]
    parts = split(plain, list(plan.symbols), plan.schema, plan.query.text, plan.types)
    values = list(parts.values)
    at_most_one = frozenset(name for name in plan.symbols if _binds_one(plan, name))
    closing = [bind_closing(conjunct, plan, at_most_one, values) for conjunct in plan.conjuncts if is_closing(conjunct)]
    _check_closing(plan, closing)
    return parts, values, closing


def make_program(plan: Match, parts: Split, closing: list[ClosingTest]) -> PatternProgram:
    """The program, with what the conjuncts mean for it."""
    related = [
        frozenset(slot.symbol for slot in test.slots)
        for test in parts.tests
        if not any(slot.is_next for slot in test.slots)
    ]
    links = Links(tuple(related), tuple(test.symbols for test in closing))
    try:
        return compile_pattern(plan.pattern, plan.strategy.name.lower(), links)
    except TooLargeError as error:
        raise too_large(plan, error) from None


def too_large(plan: Match, error: TooLargeError) -> QueryError:
    """The error about a pattern with too many steps."""
    message = f"the pattern has more than {MAX_POSITIONS:,} steps when its bounds are written out"
    return error_at(plan.query, error.span, message, "use smaller bounds, or + or *")


def _binds_one(plan: Match, symbol: str) -> bool:
    if plan.symbols[symbol].negated:
        return not plan.symbols[symbol].repeated
    return most_events(plan.pattern, symbol) == 1


def _check_closing(plan: Match, closing: list[ClosingTest]) -> None:
    """An aggregate is about one match, of the pattern or of something negated, and about one round of an AND."""
    wholes = [plan.pattern, *_negated(plan.pattern)]
    repeated = set(_in_repeated_and(plan.pattern))
    for test in closing:
        span = test.source.span
        if not any(test.symbols <= set(symbols_in(whole)) for whole in wholes):
            message = "an aggregate cannot relate events to absent ones"
            raise error_at(plan.query, span, message, "aggregate symbols that are together in PATTERN")
        if test.symbols & repeated:
            name = sorted(test.symbols & repeated)[0]
            message = f"'{name}' is in an AND that repeats, where an aggregate of it has no meaning"
            raise error_at(plan.query, span, message, "aggregate a symbol outside the AND, or do not repeat it")


def _negated(pattern: Pattern) -> list[Pattern]:
    match pattern:
        case Step():
            return []
        case Not():
            return [pattern.part, *_negated(pattern.part)]
        case Repeat():
            return _negated(pattern.part)
        case Seq() | And() | Or():
            return [inner for part in pattern.parts for inner in _negated(part)]


def _in_repeated_and(pattern: Pattern, repeated: bool = False) -> list[str]:
    match pattern:
        case Step():
            return []
        case And() if repeated:
            return symbols_in(pattern)
        case Repeat():
            return _in_repeated_and(pattern.part, repeated or pattern.maximum != 1)
        case Not():
            return _in_repeated_and(pattern.part)
        case Seq() | And() | Or():
            return [symbol for part in pattern.parts for symbol in _in_repeated_and(part, repeated)]


def _check_adjacent(plan: Match, tests: tuple[Test, ...], program: PatternProgram) -> None:
    """Every NEXT relates symbols that can stand side by side."""
    names = _names(program)
    pairs = {
        (left, right)
        for i, position in enumerate(program.positions)
        for edge in position.edges
        for left in names[i]
        for right in names[edge.target]
    }
    for test in tests:
        if any(slot.is_next for slot in test.slots) and sides_of(test) not in pairs:
            raise never_adjacent(plan, test, pairs, APART)


def _names(program: PatternProgram) -> list[set[str]]:
    """The symbols that one step into each position may bind."""
    of_conjunction: list[set[str]] = []

    def reached(branch: int) -> set[str]:
        found: set[int] = set()
        waiting = [edge.target for edge in program.branches[branch].starts]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += [edge.target for edge in program.positions[number].edges]
        return set().union(*(own(number) for number in found))

    def own(number: int) -> set[str]:
        position = program.positions[number]
        if position.symbol is not None:
            return {program.symbols[position.symbol]}
        assert position.conjunction is not None
        return of_conjunction[position.conjunction]

    for conjunction in program.conjunctions:
        of_conjunction.append(set().union(*(reached(branch) for side in conjunction.sides for branch in side)))
    return [own(number) for number in range(len(program.positions))]


def _results(
    plan: Match, program: PatternProgram, columns: Columns
) -> tuple[tuple[Returned, ...], tuple[SqlColumn, ...], pa.Schema]:
    """What the operator returns, how the user's columns are made of it, and the operator's schema."""
    results = _Results(plan, program, columns)
    made = [(item, results.renamed(item)) for item in plan.items]
    schema = pa.schema([*plan.input.partition_fields(), *results.returned.values(), *added_fields(plan)])
    project = [results.column(item, each, schema) for item, each in made]
    return tuple(results.returned), (*project, *added_columns(plan)), schema


class _Results:
    """Result columns over what the operator returns, each thing that they read once."""

    def __init__(self, plan: Match, program: PatternProgram, columns: Columns) -> None:
        self._plan = plan
        self._program = program
        self._columns = columns
        self.returned: dict[Returned, pa.Field] = {}

    def renamed(self, item: Item) -> SqlColumn | exp.Expr:
        """An item over the operator's columns; where it has another form over them, its tree."""
        if any(isinstance(node, (exp.Struct, exp.Bracket, *ENDS)) for node in every_node(item.tree)):
            return item.tree.transform(self._renamed)
        return project_columns(item, self._name, self._plan, self._columns)

    def _renamed(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Struct):
            return renamed(node.expressions[0], self._whole_event)
        if isinstance(node, ENDS):
            end = "first" if isinstance(node, exp.First) else "last"
            return renamed(node.this, lambda column: self._name(column, end))
        if isinstance(node, exp.Bracket) and isinstance(node.this, exp.Column) and self._is_array(node.this):
            # What is not there is NULL: matches differ in length.
            node.set("safe", True)
        return renamed(node, self._name)

    def _is_array(self, column: exp.Column) -> bool:
        return bool(column.table) and is_array(self._plan.query, column.table)

    def _source(self, name: str) -> str:
        return TS if name == self._plan.ts else self._columns.of_column(name)

    def _name(self, node: exp.Column, end: str = "") -> str:
        plan = self._plan
        if not node.table or (node.name in plan.partition and plan.symbols[node.table].is_single):
            return f"p{plan.partition.index(node.name)}"
        whole = not end and self._is_array(node)
        item = Returned(self._program.symbols.index(node.table), self._source(node.name), whole, end)
        kind = plan.schema.field(node.name).type
        self.returned.setdefault(item, pa.field(item.name, pa.list_(kind) if whole else kind))
        return item.name

    def _whole_event(self, node: exp.Column) -> str:
        schema = self._plan.schema
        fields = tuple((self._source(name), name) for name in schema.names)
        item = Returned(self._program.symbols.index(node.table), "event", is_array=True, fields=fields)
        self.returned.setdefault(item, pa.field(item.name, pa.list_(pa.struct(list(schema)))))
        return item.name

    def column(self, item: Item, made: SqlColumn | exp.Expr, schema: pa.Schema) -> SqlColumn:
        """A result column; a value of one event has the type that it has there."""
        if not isinstance(made, SqlColumn):
            made = project_item(item, made, schema, self._plan, self._columns)
        read = item.tree.this if isinstance(item.tree, ENDS) else item.tree
        if self._plan.query.whole_events and item.name in (MATCH_START, MATCH_END):
            return replace(made, origin=self._plan.ts)
        if isinstance(read, exp.Column):
            is_list = read is item.tree and self._is_array(read)
            return SqlColumn(made.name, made.spark, made.duckdb, origin=None if is_list else read.name)
        return replace(made, origin=None) if isinstance(read, exp.Struct) else made
