"""The names that Spark gives to columns without one: `count(1)`, `max(x)`, `(a + b)`.

Only spellings whose name is known to be Spark's have one here: tests/families/statement/test_names.py asks Spark for
every function of the lists. Everything else needs AS. A name follows the text, because sqlglot's tree forgets how a
function was called: POW and POWER are one node there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.literals import target_type
from eventide.expressions.types import column_type, is_number, is_time, kind, type_name
from eventide.lang.positions import span_of
from eventide.lang.tokens import tokenize
from eventide.lang.tree import Span
from eventide.plan.statements.scopes import Scope

_SIGNS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Add: ("+",), exp.Sub: ("-",), exp.Mul: ("*",), exp.Div: ("/",), exp.Mod: ("%",), exp.IntDiv: ("div",),
    exp.EQ: ("=", "=="), exp.LT: ("<",), exp.LTE: ("<=",), exp.GT: (">",), exp.GTE: (">=",), exp.NullSafeEQ: ("<=>",),
    exp.And: ("AND",), exp.Or: ("OR",),
}  # fmt: skip
_ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg)
# Spark shows these functions in capitals, the next ones as they are written, in small letters.
_SHOUTED = """
    acos asin atan atan2 ceil cos cosh degrees exp floor log10 log2 power radians regexp_like signum sin sinh sqrt tan
    tanh
"""
_WRITTEN = """
    abs add_months any any_value array array_contains array_join array_max array_min avg bool_and bool_or cardinality
    ceiling char_length character_length coalesce collect_list concat concat_ws contains count count_if date_add
    date_diff datediff day dayofmonth dayofweek dayofyear element_at endswith every greatest hour ifnull instr isnan
    last_day lcase least left len length ln lower max mean median min minute mod month nanvl nullif nvl nvl2 pmod pow
    quarter right second sign size some startswith std stddev stddev_pop stddev_samp sum ucase unix_micros unix_seconds
    upper var_pop var_samp variance weekday weekofyear year
"""
_CALLS = {name: name.upper() for name in _SHOUTED.split()} | {name: name for name in _WRITTEN.split()}
_CALLS |= {"array_agg": "collect_list", "if": "(IF"}
# Where arguments are left out, Spark shows what it puts in.
_WHOLE = {"substring": 3, "substr": 3, "round": 2, "replace": 3, "trim": 1, "ltrim": 1, "rtrim": 1}
_CALLS |= {name: name for name in _WHOLE}
_CALLED = (exp.Func, exp.Any, exp.Mod, exp.Bracket)
_NUMBER = re.compile(r"(0|[1-9]\d*)(\.\d{1,6})?")
_DATE = re.compile(r"DATE\s*'(\d{4}-\d\d-\d\d)'", re.IGNORECASE)
_CALL = re.compile(r"(\w+)\s*\(")

TypeOf = Callable[[exp.Expr], pa.DataType | None]


def needs_name(item: exp.Expr, text: str) -> QueryError:
    """The error about a result whose name on Spark is not known here."""
    return unknown_name(text, span_of(item, Span(0, 0)))


def unknown_name(text: str, span: Span) -> QueryError:
    """The error about a result that stands there in the text."""
    shown = " ".join(text[span.start : span.end].split()) or "..."
    message = f"the name that Spark gives to {shown} is not known in this process"
    return QueryError(message, text, span.start, span.end, hint=f"give it a name: {shown} AS name")


def is_shown(query: exp.Expr) -> bool:
    """Whether the names of a SELECT's results can be seen: not behind names that are given, nor in a condition.

    >>> import sqlglot
    >>> text = "SELECT (SELECT 1) FROM (SELECT 2 UNION SELECT 3) JOIN (SELECT 4) AS q(n)"
    >>> selects = sqlglot.parse_one(text, read="spark").find_all(exp.Select)
    >>> sorted(select.expressions[0].name for select in selects if is_shown(select))
    ['', '2']
    """
    node, parent = query, query.parent
    while parent is not None:
        if isinstance(parent, exp.SetOperation):
            if parent.expression is node:
                return False
        elif isinstance(parent, exp.CTE | exp.Subquery):
            alias = parent.args.get("alias")
            if alias is not None and alias.args.get("columns"):
                return False
            if isinstance(parent, exp.CTE) or isinstance(parent.parent, exp.From | exp.Join):
                return True
        else:
            return False
        node, parent = parent, parent.parent
    return True


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one SELECT's results; `text` is what it was read from, `type_of` types what can stand alone."""

    text: str
    scope: Scope
    type_of: TypeOf

    def of(self, item: exp.Expr) -> str | None:
        """The name of a result: its alias, its column's, or Spark's own; None where that is not known."""
        if isinstance(item, exp.Alias):
            return item.alias
        plain = item.unnest()
        if isinstance(plain, exp.Cast) and isinstance(plain.this.unnest(), exp.Column):
            plain = plain.this.unnest()
        if self._has_plus(item):
            return None
        return plain.name if isinstance(plain, exp.Column) else self._shown(plain)

    def _has_plus(self, item: exp.Expr) -> bool:
        """Whether a sign + stands before a value: Spark shows it, sqlglot forgets it."""
        span = span_of(item, Span(0, 0))
        signs = [token for token in tokenize(self.text[span.start : span.end], any_character=True) if token.text == "+"]
        n_written = len(signs) + self.text[: span.start].rstrip().endswith("+")
        return n_written != sum(1 for _ in item.find_all(exp.Add))

    def _shown(self, node: exp.Expr) -> str | None:
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Literal():
                return self._literal(node)
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return "true" if node.this else "false"
            case exp.Paren():
                return self._shown(node.this)
            case exp.Neg():
                return self._negative(node)
            case exp.Is() | exp.Not():
                return self._test(node)
            case exp.NEQ():
                return self._put("(NOT ({} = {}))", node.this, node.expression)
            case exp.In() if node.expressions:
                return self._put(f"({{}} IN ({_listed(len(node.expressions))}))", node.this, *node.expressions)
            case exp.Between() if not node.args.get("symmetric"):
                return self._put("between({}, {}, {})", node.this, node.args["low"], node.args["high"])
            case exp.Like() | exp.ILike():
                shape = "{} LIKE {}" if isinstance(node, exp.Like) else "ilike({}, {})"
                return self._put(f"(NOT {shape})" if node.args.get("negate") else shape, node.this, node.expression)
            case exp.DPipe() if not isinstance(node.expression, exp.DPipe):
                return self._put("concat({}, {})", node.this, node.expression)
            case exp.Cast():
                return self._cast(node)
            case exp.Case():
                return self._case(node)
        return self._call(node) or self._operator(node)

    def _column(self, node: exp.Column) -> str | None:
        """Fields of a struct follow their column; of a result of the same list Spark shows more than its name."""
        if self.scope.is_result(node):
            return None
        _, fields = self.scope.find(node)
        return ".".join(part.name for part in node.parts[-1 - len(fields) :])

    def _literal(self, node: exp.Literal) -> str | None:
        written = self._text(node)
        if node.is_string:
            return node.this if written[1:-1] == node.this else None
        return node.this if written == node.this and _NUMBER.fullmatch(written) else None

    def _negative(self, node: exp.Neg) -> str | None:
        if isinstance(node.this, exp.Literal):
            return self._put("-{}", node.this)
        return self._put("(- {})", node.this) if self._is_plain(node) else None

    def _test(self, node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Is):
            inner = node.this
            if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and self._says_is_not(inner):
                return self._put("({} IS NOT NULL)", inner.this)
            return self._put("(NOT {})", inner)
        if isinstance(node.expression, exp.Null):
            return self._put("({} IS NULL)", node.this)
        return self._put("({} <=> {})", node.this, node.expression)

    def _says_is_not(self, node: exp.Is) -> bool:
        """Whether `x IS NOT NULL` is written, not `NOT x IS NULL`."""
        behind = self.text[span_of(node.this, Span(0, 0)).end :]
        return re.match(r"\s*IS\s+NOT\b", behind, re.IGNORECASE) is not None

    def _cast(self, node: exp.Cast) -> str | None:
        written = self._text(node)
        day = _DATE.fullmatch(written)
        if day is not None:
            return f"DATE '{day[1]}'"
        dtype = None if node.args.get("safe") or node.args.get("format") else target_type(node.to)
        is_cast = re.match(r"CAST\s*\(", written, re.IGNORECASE) is not None
        return self._put(f"CAST({{}} AS {type_name(dtype).upper()})", node.this) if dtype and is_cast else None

    def _case(self, node: exp.Case) -> str | None:
        parts, shape = [], "CASE"
        for branch in node.args["ifs"]:
            shape += " WHEN {} THEN {}" if node.this is None else " WHEN ({} = {}) THEN {}"
            parts += [*([] if node.this is None else [node.this]), branch.this, branch.args["true"]]
        if node.args.get("default") is not None:
            shape += " ELSE {}"
            parts.append(node.args["default"])
        return self._put(f"{shape} END", *parts)

    def _operator(self, node: exp.Expr) -> str | None:
        signs = _SIGNS.get(type(node))
        if signs is None or not self._is_plain(node):
            return None
        sides = node.this, node.expression
        before, behind = (span_of(side, Span(0, 0)) for side in sides)
        # Spark makes a balanced tree of long chains.
        is_long = isinstance(node, exp.Connector) and any(isinstance(side, type(node)) for side in sides)
        # Of a whole number and 1.5 it compares the number with 1.
        is_cut = isinstance(node, _ORDERS) and any(isinstance(side, exp.Literal) and "." in side.this for side in sides)
        if is_long or is_cut or self.text[before.end : behind.start].strip().upper() not in map(str.upper, signs):
            return None
        return self._put(f"({{}} {signs[0]} {{}})", *sides)

    def _is_plain(self, node: exp.Expr) -> bool:
        """Whether arithmetic is of numbers, or a difference of times: Spark shows what a day and a number become."""
        if not isinstance(node, _ARITHMETIC):
            return True
        sides = [side for side in (node.this, node.args.get("expression")) if side is not None]
        # Arithmetic of numbers gives numbers: those sides are looked at when they are shown.
        found = [self.type_of(side) for side in sides if not isinstance(side.unnest(), _ARITHMETIC)]
        if None in found:
            return False
        types = [column_type(dtype) for dtype in found]
        if isinstance(node, exp.Sub) and len(types) == 2 and all(is_time(dtype) for dtype in types):
            return True
        return all(is_number(dtype) or kind(dtype) == "null" for dtype in types)

    def _call(self, node: exp.Expr) -> str | None:
        """A function under the name that is written, where each argument is what stands in the text."""
        written = self._text(node)
        called = _CALL.match(written) if isinstance(node, _CALLED) else None
        name = _CALLS.get(called[1].lower()) if called else None
        if called is None or name is None or not written.endswith(")"):
            return None
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
            return "count(1)"
        start = span_of(node, Span(0, 0)).start + called.end()
        inside, distinct = written[called.end() : -1], ""
        if (found := re.match(r"\s*DISTINCT\s", inside, re.IGNORECASE)) is not None:
            start, inside, distinct = start + found.end(), inside[found.end() :], "DISTINCT "
        arguments = self._arguments(node, inside, start)
        if arguments is None or _WHOLE.get(called[1].lower(), len(arguments)) != len(arguments):
            return None
        return self._put(f"{name}({distinct}{_listed(len(arguments))})" + ")" * name.count("("), *arguments)

    def _arguments(self, node: exp.Expr, inside: str, start: int) -> list[exp.Expr] | None:
        """The nodes of the arguments as they are written; None where the tree has others."""
        nodes: dict[Span, exp.Expr] = {}
        for part in node.walk():
            if part is not node and not isinstance(part, exp.Distinct | exp.TsOrDsToDate):
                nodes.setdefault(span_of(part, Span(0, 0)), part)
        found = [nodes.get(Span(start + begin, start + end)) for begin, end in _split(inside)]
        return None if None in found else [part for part in found if part is not None]

    def _text(self, node: exp.Expr) -> str:
        span = span_of(node, Span(0, 0))
        return self.text[span.start : span.end]

    def _put(self, shape: str, *parts: exp.Expr) -> str | None:
        shown = [self._shown(part) for part in parts]
        return None if None in shown else shape.format(*shown)


def _listed(n: int) -> str:
    return ", ".join(["{}"] * n)


def _split(inside: str) -> Sequence[tuple[int, int]]:
    """Where the arguments between two brackets stand.

    >>> _split("x, f(y, 1)")
    [(0, 1), (3, 10)]
    """
    tokens, depth, found = tokenize(inside, any_character=True)[:-1], 0, []
    first = 0
    for i, token in enumerate(tokens):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if token.text == "," and depth == 0:
            found.append((tokens[first].start, tokens[i - 1].end))
            first = i + 1
    return [*found, (tokens[first].start, tokens[-1].end)] if first < len(tokens) else found
