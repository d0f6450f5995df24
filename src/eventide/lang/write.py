"""`EventQuery` in, canonical query text out: one clause per line, in a fixed order."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from eventide.errors import QueryError
from eventide.lang.clauses import starts_clause
from eventide.lang.conditions import conjunction_joints
from eventide.lang.durations import write_length
from eventide.lang.joins import JOIN_WORDS, whole_side
from eventide.lang.keywords import RESERVED
from eventide.lang.nodes import copied
from eventide.lang.scalars import Rules, parse_scalar
from eventide.lang.tokens import one_line, tokenize
from eventide.lang.tree import (
    And,
    AnyQuery,
    Constraint,
    EventQuery,
    JoinQuery,
    Name,
    Not,
    Or,
    Pattern,
    Repeat,
    ReturnItem,
    Scalar,
    Seq,
    Side,
    Situation,
    SituationQuery,
    Step,
    Windowing,
    WindowQuery,
    Within,
)
from eventide.lang.window_expressions import WINDOW_RULES

_QUANTIFIERS = {(1, None): "+", (0, None): "*", (0, 1): "?"}


def write(query: AnyQuery) -> str:
    """The text of a query: `parse(write(query)) == query`, and equal queries have equal text.

    >>> from eventide.lang.parse import parse
    >>> print(write(parse("within 60 s pattern seq(A, B b+) where b.x>1 and [user]")))
    PATTERN SEQ(A, B b+)
    WHERE b.x > 1 AND [user]
    WITHIN 1 minute
    """
    if isinstance(query, SituationQuery):
        return _write_situations(query)
    if isinstance(query, WindowQuery):
        return _write_windows(query)
    if isinstance(query, JoinQuery):
        return _write_join(query)
    lines: list[str] = []

    def clause(keyword: str, body: str) -> None:
        if body:
            lines.append(f"{keyword} {body}")

    clause("FROM", write_name(query.source.text) if query.source else "")
    clause("PARTITION BY", _names(query.partition_by))
    clause("PATTERN", write_pattern(query.pattern))
    clause("DEFINE", ", ".join(f"{write_name(d.name.text)} AS {write_scalar(d.condition)}" for d in query.define))
    clause("WHERE", _conditions(query))
    clause("SEMANTICS", query.semantics.value if query.semantics else "")
    clause("GROUP BY", _names(query.group_by))
    if query.window:
        slide = f" SLIDE {write_length(query.window.slide)}" if query.window.slide else ""
        clause("WITHIN", write_length(query.window.length) + slide)
    clause("MIN LENGTH", str(query.min_length) if query.min_length else "")
    clause("RETURN", _returned(query))
    clause("OPTIONS", _options(query))
    return "\n".join(lines)


def _write_situations(query: SituationQuery) -> str:
    lines = [f"FROM {write_name(query.source.text)}"] if query.source else []
    if query.partition_by:
        lines.append(f"PARTITION BY {_names(query.partition_by)}")
    lines.append("DEFINE " + ",\n       ".join(map(_situation, query.define)))
    lines.append("PATTERN " + " AND ".join(map(write_constraint, query.pattern)))
    if query.window:
        lines.append(f"WITHIN {write_length(query.window.length)}")
    if query.complete:
        lines.append("EMIT ON COMPLETE")
    if query.returns:
        # `end(A)` is no function of SQL: the words stay as they are.
        names = [f" AS {write_name(item.alias.text)}" if item.alias else "" for item in query.returns]
        items = [one_line_of(item.value.text) + name for item, name in zip(query.returns, names, strict=True)]
        lines.append("RETURN " + ", ".join(items))
    if query.options:
        lines.append(f"OPTIONS {_options(query)}")
    return "\n".join(lines)


def _write_windows(query: WindowQuery) -> str:
    lines = [f"FROM {write_name(query.source.text)}"] if query.source else []
    if query.where is not None:
        lines.append(f"WHERE {write_scalar(query.where)}")
    if query.group_by:
        lines.append(f"GROUP BY {_names(query.group_by)}")
    if query.windowing is not None:
        lines.append(write_windowing(query.windowing))
    if query.every is not None:
        lines.append(f"EMIT EVERY {write_length(query.every)}")
    if query.empty:
        lines.append("EMIT EMPTY")
    items = [
        write_scalar(each.value, WINDOW_RULES) + (f" AS {write_name(each.alias.text)}" if each.alias else "")
        for each in query.returns
    ]
    lines.append("RETURN " + ("*" if query.whole_events else ", ".join(items)))
    if query.having is not None:
        lines.append(f"HAVING {write_scalar(query.having, WINDOW_RULES)}")
    if query.options:
        lines.append(f"OPTIONS {_options(query)}")
    return "\n".join(lines)


def write_windowing(windowing: Windowing) -> str:
    """The windows of a query, as a clause."""
    length, slide = write_length(windowing.length), windowing.slide
    if windowing.kind == "session":
        return f"SESSION {length}"
    if windowing.kind == "growing":
        assert slide is not None
        return f"WITHIN UP TO {length} STEP {write_length(slide)}"
    return f"WITHIN {length}" + (f" SLIDE {write_length(slide)}" if slide is not None else "")


def _write_join(query: JoinQuery) -> str:
    words = [] if query.kind == "inner" else [query.kind.upper()]
    if query.asof is not None:
        direction = [] if query.asof == "backward" else [query.asof.upper()]
        words += ["ASOF", *direction, *(["ALL"] if query.all_ties else [])]
    lines = [f"FROM {_side(query.left)} {' '.join([*words, 'JOIN'])} {_side(query.right)}"]
    if query.on is not None:
        lines[0] += f" ON {write_scalar(query.on)}"
    if query.where is not None:
        lines.append(f"WHERE {write_scalar(query.where)}")
    if query.within is not None:
        lines.append(f"WITHIN {write_within(query.within)}")
    wholes = [(each, whole_side(each)) for each in query.returns]
    items = [_item(each) if name is None else f"{write_name(name)}.*" for each, name in wholes]
    lines.append("RETURN " + (", ".join(items) or "*"))
    if query.options:
        lines.append(f"OPTIONS {_options(query)}")
    return "\n".join(lines)


def _side(side: Side) -> str:
    names = [f"`{name}`" if name.upper() in JOIN_WORDS else write_name(name) for name in (side.source.text, side.name)]
    return " ".join(dict.fromkeys(names))


def write_within(within: Within) -> str:
    """How far apart the rows of a pair may be, as WITHIN says it."""
    before, after = within.before, within.after
    if before is None or after is None:
        given, word = (after, "AFTER") if before is None else (before, "BEFORE")
        assert given is not None
        return f"{write_length(given)} {word}"
    if before == after:
        return write_length(after)
    return f"{write_length(before)} BEFORE AND {write_length(after)} AFTER"


def _situation(situation: Situation) -> str:
    text = f"{write_name(situation.name.text)} AS {write_scalar(situation.condition)}"
    if situation.max_gap is not None:
        text += f" MAX GAP {write_length(situation.max_gap)}"
    return f"{text} FOR {write_duration(situation)}" if situation.minimum or situation.maximum else text


def write_duration(situation: Situation) -> str:
    """How long a situation may last, in words; empty where nothing bounds it."""
    match situation.minimum, situation.maximum:
        case None, None:
            return ""
        case minimum, None:
            assert minimum is not None
            return f"AT LEAST {write_length(minimum)}"
        case None, maximum:
            assert maximum is not None
            return f"AT MOST {write_length(maximum)}"
        case minimum, maximum:
            assert minimum is not None and maximum is not None
            return f"BETWEEN {write_length(minimum)} AND {write_length(maximum)}"


def write_constraint(constraint: Constraint) -> str:
    """A constraint as PATTERN has it."""
    relations = "|".join(constraint.relations)
    return f"{write_name(constraint.left.text)} {relations} {write_name(constraint.right.text)}"


def _options(query: AnyQuery) -> str:
    options = ", ".join(f"{write_name(option.name.text)} = {_string(option.value)}" for option in query.options)
    return f"({options})" if options else ""


def write_name(name: str) -> str:
    """A name, in backticks where it needs them.

    >>> write_name("region"), write_name("order id"), write_name("within")
    ('region', '`order id`', '`within`')
    """
    if name.isidentifier() and name.upper() not in RESERVED:
        return name
    return f"`{name.replace('`', '``')}`"


def write_pattern(pattern: Pattern) -> str:
    """A pattern as the PATTERN clause has it.

    >>> write_pattern(Repeat(Repeat(Step("A", "A"), 1, None), 2, 3))
    '(A+){2,3}'
    """
    match pattern:
        case Step(kind, symbol):
            return write_name(kind) if kind == symbol else f"{write_name(kind)} {write_name(symbol)}"
        case Not(part):
            return f"NOT {write_pattern(part)}"
        case Repeat(part, minimum, maximum):
            inner = write_pattern(part) if isinstance(part, Step) else f"({write_pattern(part)})"
            return inner + write_quantifier(minimum, maximum)
        case Seq(parts) | And(parts) | Or(parts):
            return f"{type(pattern).__name__.upper()}({', '.join(map(write_pattern, parts))})"


LONG = 2_000  # characters: what is longer is not written anew, which would take as long again as reading it


def write_scalar(scalar: Scalar, rules: Rules | None = None) -> str:
    """A scalar expression in Spark SQL.

    Where sqlglot's text would read back as another tree (`int(x)` becomes a cast that parses differently),
    the text as the user wrote it stands instead, and so does a long one, which would take as long again to read.
    """
    line = scalar.line or one_line_of(scalar.text)
    if len(scalar.text) > LONG:
        return line
    text = _generate(scalar.tree)
    for candidate in (text, line):
        # What the tree was read from reads back as this tree.
        if candidate == scalar.line or _reads_back(candidate, scalar.tree, rules):
            return candidate
    return f"({text or scalar.text})"


def _generate(tree: exp.Expression) -> str:
    try:
        return str(
            copied(tree).sql(
                "spark",
                copy=False,
                normalize_functions=False,
                comments=False,
                unsupported_level=ErrorLevel.IGNORE,
            )
        )
    except (LookupError, SqlglotError):  # sqlglot parses `regexp_replace(x, y)`, and cannot write it
        return ""


def one_line_of(text: str) -> str:
    """The text without comments, and with single blanks."""
    try:
        return one_line(tokenize(text))
    except QueryError:
        return text


def _reads_back(text: str, tree: exp.Expression, rules: Rules | None) -> bool:
    try:
        if parse_scalar(text, rules).tree != tree:
            return False
    except QueryError:
        return False
    depth = 0
    tokens = tokenize(text)
    for idx, token in enumerate(tokens):
        depth += token.text in ("(", "[")
        depth -= token.text in (")", "]")
        if depth == 0 and starts_clause(tokens, idx):
            return False
    return True


def _conditions(query: EventQuery) -> str:
    is_long = sum(len(scalar.line) for scalar in query.where) > LONG
    conditions = [scalar.line if is_long and scalar.line else write_scalar(scalar) for scalar in query.where]
    if len(conditions) + bool(query.same) > 1:
        pairs = zip(conditions, query.where, strict=True)
        conditions = [f"({text})" if _binds_loosely(text, scalar.tree) else text for text, scalar in pairs]
    if query.same:
        conditions.append(f"[{_names(query.same)}]")
    return " AND ".join(conditions)


def _binds_loosely(text: str, tree: exp.Expr) -> bool:
    """Whether the text falls apart when joined with AND: an OR outside brackets."""
    return isinstance(tree, exp.Or | exp.Xor) and not conjunction_joints(tokenize(f"{text} AND x"))


def _names(names: tuple[Name, ...]) -> str:
    return ", ".join(write_name(name.text) for name in names)


def _returned(query: EventQuery) -> str:
    if query.complete_trends:
        return "COMPLETE TRENDS"
    return "*" if query.whole_events else ", ".join(map(_item, query.returns))


def _item(item: ReturnItem) -> str:
    text = write_scalar(item.value)
    return f"{text} AS {write_name(item.alias.text)}" if item.alias else text


def write_quantifier(minimum: int, maximum: int | None) -> str:
    """`+`, `{2,3}` and the like."""
    if (minimum, maximum) in _QUANTIFIERS:
        return _QUANTIFIERS[minimum, maximum]
    if minimum == maximum:
        return f"{{{minimum}}}"
    return f"{{{minimum or ''},{'' if maximum is None else maximum}}}"


def _string(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r") + "'"
