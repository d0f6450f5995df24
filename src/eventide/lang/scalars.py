"""Scalar expressions: Spark SQL text in, a sqlglot tree with places out.

Only what the `Rules` of a query language allow is let through; by default expressions over events, without
statements, subqueries, window functions or lambdas. sqlglot is kept from unbounded work, and its messages from
the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parsers.spark import SparkParser

from eventide.errors import QueryError
from eventide.lang import doors
from eventide.lang.chains import balance
from eventide.lang.keywords import misplaced_hint
from eventide.lang.nodes import every_node
from eventide.lang.positions import place, span_of
from eventide.lang.tokens import Kind, Token, check_words, match_brackets, one_line, tokenize
from eventide.lang.tree import Scalar, Span

# sqlglot takes up to 30 Python frames per bracket, of the 1000 that there are.
MAX_NESTING = 24
MAX_HEIGHT = 80
# Operators in a row that must be computed one after the other; the planner takes three frames for each.
MAX_CHAIN = 200
# sqlglot takes time with the square of their number; literals and the branches of a CASE are not counted.
MAX_ARGUMENTS = 1000
_SPARK = Spark()
# What may touch a number: punctuation, which has no word, and the suffixes of typed literals.
_AFTER_NUMBER = frozenset({"", "L", "S", "Y", "D", "F", "BD"})
_OPERATOR_WORDS = frozenset(
    {"AND", "OR", "NOT", "IN", "LIKE", "RLIKE", "ILIKE", "BETWEEN", "IS", "THEN", "ELSE", "WHEN", "DIV", "AS"}
)
_COMPARISON = frozenset("<>=!")
# Signs that sqlglot may take in another sense than the user's, beside SELECT and what stands behind a number.
_CHECKED = _COMPARISON | frozenset("{;?:,)][")
_UNCOUNTED = (exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Cast, exp.If)
_DEEP = "split it: compute parts of it as columns before the query"

Refused = tuple[type[exp.Expr], str, str]


class BoundedParser(SparkParser):
    """Bounded in steps: on nested type names, `struct(struct(`, sqlglot backtracks exponentially."""

    steps_left = 0

    def _advance(self, times: int = 1) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise _WorkLimitError
        super()._advance(times)


class _WorkLimitError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Rules:
    """What a query language lets through as an expression, and what it says about the rest.

    `refused` holds node types with a message and a hint; `check_node` is called with the query text, each node
    and the span of the expression. With `subqueries`, these pass unseen.
    """

    refused: tuple[Refused, ...]
    check_node: Callable[[str, exp.Expr, Span], None]
    misplaced_hint: Callable[[Token], str | None]
    alias_hint: str
    bracket_error: tuple[str, str]
    parser: type[BoundedParser] = BoundedParser
    subqueries: bool = False


def parse_scalar(text: str, rules: Rules | None = None) -> Scalar:
    """One scalar expression on its own, such as the condition of a builder step.

    >>> parse_scalar("amount > 2 * A.amount").tree.sql("spark")
    'amount > 2 * A.amount'
    """
    tokens = tokenize(text)
    match_brackets(text, tokens)
    return read_scalar(text, tokens[:-1], tokens[-1], "the expression", rules=rules)


def read_scalar(
    text: str,
    tokens: Sequence[Token],
    after: Token,
    what: str,
    usage: str | None = None,
    rules: Rules | None = None,
) -> Scalar:
    """The expression that the tokens spell, by the rules given or those of event patterns.

    `after` is the token behind them; errors call the expression `what`, and show `usage` when it is missing.
    """
    rules = rules or EVENT_RULES
    if not tokens:
        hint = f"write for example: {usage}" if usage else None
        if after.kind is Kind.WORD:
            hint = f"'{after.text}' is a keyword; if it is a column, write it in backticks: `{after.text}`"
        raise QueryError(f"{what} is missing, found {after}", text, after.start, after.end, hint=hint)
    check_words(text, tokens, what)
    _check_nesting(text, tokens, what)
    for idx, token in enumerate(tokens):
        if token.text in _CHECKED or token.word == "SELECT" or (idx and tokens[idx - 1].kind is Kind.NUMBER):
            _check_token(text, tokens, idx, what, rules)
    span = Span(tokens[0].start, tokens[-1].end)
    tree = balance(_parse(text, tokens, what, rules))
    place(tree, tokens)
    if not isinstance(tree, exp.Expression):
        raise QueryError(f"{what} is not an expression", text, span.start, span.end)
    _check_tree(text, tree, span, what, rules)
    return Scalar(tree, text[span.start : span.end], span, one_line(tokens))


# --- before sqlglot ---------------------------------------------------------------------------------------


def _check_nesting(text: str, tokens: Sequence[Token], what: str) -> None:
    depth = 0
    cases: list[Token] = []
    for idx, token in enumerate(tokens):
        bare = not (idx and tokens[idx - 1].is_punctuation("."))
        if token.text in ("(", "["):
            depth += 1
        elif token.text in (")", "]"):
            depth -= 1
        elif token.word == "CASE" and bare:
            cases.append(token)
        elif token.word == "END" and bare and cases:
            cases.pop()
        if depth + len(cases) > MAX_NESTING:
            hint = f"at most {MAX_NESTING} levels are allowed; {_DEEP}"
            raise QueryError(f"{what} is nested too deeply", text, token.start, token.end, hint=hint)
    if cases:
        hint = "write CASE WHEN condition THEN value ELSE value END"
        raise QueryError("CASE has no END", text, cases[-1].start, cases[-1].end, hint=hint)


def _check_token(text: str, tokens: Sequence[Token], idx: int, what: str, rules: Rules) -> None:
    """Refuse what sqlglot would take in another sense than the user's."""
    token = tokens[idx]
    last = tokens[idx - 1] if idx else None
    glued = last is not None and last.end == token.start
    unexpected = f"unexpected {token} in {what}"
    before = last.text if last else ""

    def fail(message: str, hint: str | None, start: int = token.start) -> NoReturn:
        raise QueryError(message, text, start, token.end, hint=hint)

    if token.word == "SELECT" and last is None:
        fail(f"{what} must be an expression, found {token}", rules.misplaced_hint(token))
    if token.word == "SELECT" and before == "(" and not rules.subqueries:
        fail("a subquery is not allowed in a query", "relate events by their symbols: A.user = B.user")
    if last is not None and last.kind is Kind.NUMBER and glued and token.word not in _AFTER_NUMBER:
        hint = f"a time is written INTERVAL '{before}' MINUTE; a name starting with a digit needs backticks"
        fail(f"'{before}{token.text}' is neither a number nor a name", hint, last.start)
    if token.kind is not Kind.PUNCTUATION:
        return
    if token.text in ("{", ";"):
        fail(unexpected, None)
    if token.text == "?" or (token.text == ":" and not ends_operand(last) and before != ":"):
        fail(unexpected, "a query has no parameters; write the value itself")
    if token.text == ">" and before == "-" and last is not None and glued:
        fail("'->' is not allowed in a query", "lambdas are not supported; compute a column before", last.start)
    if token.text in _COMPARISON and before in _COMPARISON and not glued:
        in_type = idx + 1 < len(tokens) and tokens[idx + 1].text in (")", ">")
        if not in_type:
            fail(unexpected, "only one comparison is allowed between two values")
    if (token.text == "," and before in ("(", "[", ",")) or (token.text in (")", "]") and before == ","):
        fail(unexpected, "an argument is missing, or there is a comma too many")
    if token.text == "[" and not ends_operand(last):
        fail(*rules.bracket_error)


def ends_operand(token: Token | None) -> bool:
    """Whether an operand may end with the token, so that an operator or nothing follows."""
    if token is None or token.word in _OPERATOR_WORDS:
        return False
    return token.kind is not Kind.PUNCTUATION or token.text in (")", "]", ">")


# --- sqlglot ----------------------------------------------------------------------------------------------


def _parse(text: str, tokens: Sequence[Token], what: str, rules: Rules) -> exp.Expr:
    start, end = tokens[0].start, tokens[-1].end
    # Comments and odd white space become blanks, so that offsets stay and sqlglot sees nothing but tokens.
    pieces: list[str] = []
    at = start
    for token in tokens:
        pieces += (" " * (token.start - at), token.text)
        at = token.end
    sql = "".join(pieces)
    parser = rules.parser(error_level=ErrorLevel.IMMEDIATE, error_message_context=len(sql), dialect=_SPARK)
    parser.steps_left = 10_000 + 100 * len(tokens)
    try:
        tree = parser.parse_into(exp.Condition, _SPARK.tokenize(sql), sql)[0]
    except (RecursionError, _WorkLimitError):
        raise QueryError(f"{what} is nested too deeply", text, start, end, hint=_DEEP) from None
    except SqlglotError as error:
        _fail_parse(text, tokens, what, error, rules)
    except Exception as error:  # sqlglot is large: whatever else it raises is still about this text
        raise QueryError(f"cannot read {what}", text, start, end, hint="is it a Spark SQL expression?") from error
    if tree is None:
        raise QueryError(f"cannot read {what}", text, start, end, hint="is it a Spark SQL expression?")
    return tree


def _fail_parse(text: str, tokens: Sequence[Token], what: str, error: SqlglotError, rules: Rules) -> NoReturn:
    details = (getattr(error, "errors", None) or [{}])[0]
    description = str(details.get("description", ""))
    offset = tokens[0].start + len(details.get("start_context") or "")
    idx = next((i for i, token in enumerate(tokens) if token.end > offset), len(tokens) - 1)
    token = tokens[idx]
    if "number of provided arguments" in description:
        call = _called(tokens, idx)
        raise QueryError(f"too many arguments for {call}", text, call.start, call.end) from None
    if idx == len(tokens) - 1 and "Unexpected token" not in description and token.text not in (")", "]"):
        hint = f"something must follow {token}"
        raise QueryError(f"{what} ends too early, after {token}", text, token.start, token.end, hint=hint) from None
    advice = _unexpected_hint(token, tokens[idx - 1] if idx else None, what, rules)
    raise QueryError(f"unexpected {token} in {what}", text, token.start, token.end, hint=advice) from None


def _called(tokens: Sequence[Token], idx: int) -> Token:
    """The name of the function whose arguments hold the token."""
    depth = 0
    for at in range(idx - 1 if tokens[idx].text == ")" else idx, 0, -1):
        depth += (tokens[at].text == ")") - (tokens[at].text == "(")
        if depth < 0:
            return tokens[at - 1]
    return tokens[idx]


def _unexpected_hint(token: Token, last: Token | None, what: str, rules: Rules) -> str | None:
    if token.word == "AS":
        return rules.alias_hint
    if last is not None and last.text == "(" and token.text == ")":
        return "an argument is missing between the parentheses"
    if hint := rules.misplaced_hint(token):
        return hint
    if token.kind is Kind.PUNCTUATION or not ends_operand(last):
        return None
    if "RETURN" in what:
        return f"separate the results with commas; a name for one is written AS {token.text}"
    return "an operator such as AND, OR or = may be missing before it"


# --- after sqlglot ----------------------------------------------------------------------------------------


def _check_tree(text: str, tree: exp.Expression, whole: Span, what: str, rules: Rules) -> None:
    if isinstance(tree, (exp.Tuple, exp.DataType, exp.Distinct)):
        hint = "separate conditions with AND, results with commas"
        fail_at(text, tree, whole, f"{what} must be one expression", hint)
    _check_size(text, tree, whole, what)
    refused_types = tuple(refused for refused, _, _ in rules.refused)
    for node in every_node(tree, (lambda node: isinstance(node, exp.Query)) if rules.subqueries else None):
        if isinstance(node, refused_types):
            message, hint = next((m, h) for refused, m, h in rules.refused if isinstance(node, refused))
            fail_at(text, node, whole, message, hint)
        if isinstance(node, exp.In) and not any(node.args.get(key) for key in ("expressions", "query", "field")):
            fail_at(text, node, whole, "IN has no list", "write A.x IN (1, 2)")
        if isinstance(node, exp.Star):
            owner = node.parent.parent if isinstance(node.parent, exp.Column) else node.parent
            if not isinstance(owner, exp.Count):
                _fail_star(text, tree, node, whole, what)
        doors.check_node(node, text, whole)
        rules.check_node(text, node, whole)


def _fail_star(text: str, tree: exp.Expr, node: exp.Expr, whole: Span, what: str) -> NoReturn:
    is_item = tree is node or (isinstance(tree, exp.Column) and tree.this is node)
    if "RETURN" in what and is_item:
        message = "in RETURN '*' is allowed alone or in COUNT(*)"
        hint = "RETURN * has the partition columns and all events of every symbol; or name the columns: RETURN a.x"
        fail_at(text, tree, whole, message, hint)
    hint = "name the columns; a product needs a value on both sides"
    fail_at(text, node, whole, "'*' is allowed only in COUNT(*)", hint)


def _check_event_node(text: str, node: exp.Expr, whole: Span) -> None:
    if isinstance(node, exp.Count) and node.this is None:
        fail_at(text, node, whole, "COUNT has no argument", "write COUNT(*), or COUNT(A)")
    if isinstance(node, exp.Anonymous) and node.name.upper() == "NEXT":
        _check_next(text, node, whole)
        node.set("this", "NEXT")


def _check_next(text: str, node: exp.Anonymous, whole: Span) -> None:
    argument = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(argument, exp.Column) or not isinstance(argument.this, exp.Identifier):
        fail_at(text, node, whole, "NEXT takes exactly one symbol", "write NEXT(C).column")
    name, symbol = argument.name, argument.table
    if symbol:
        fail_at(text, node, whole, "NEXT takes a symbol, not a column", f"write NEXT({symbol}).{name}")
    dot = node.parent
    if not isinstance(dot, exp.Dot) or dot.this is not node or not isinstance(dot.expression, exp.Identifier):
        message = f"NEXT({name}) is an event, and a column must follow"
        fail_at(text, node, whole, message, f"write NEXT({name}).column")


def fail_at(text: str, node: exp.Expr, whole: Span, message: str, hint: str | None) -> NoReturn:
    """Raise at the node, or at the whole expression where the node has no place."""
    span = span_of(node, whole)
    raise QueryError(message, text, span.start, span.end, hint=hint)


def _check_size(text: str, tree: exp.Expr, whole: Span, what: str) -> None:
    """A chain such as `a + b + c` is one level of nesting, with a limit of its own."""
    stack: list[tuple[exp.Expr, int, int]] = [(tree, 1, 0)]
    while stack:
        node, height, length = stack.pop()
        if height > MAX_HEIGHT:
            fail_at(text, tree, whole, f"{what} is nested too deeply", _DEEP)
        if length == MAX_CHAIN:
            hint = f"put groups of them into parentheses, or {_DEEP}"
            fail_at(text, tree, whole, f"{what} has more than {MAX_CHAIN} operators in a row", hint)
        children = [
            part
            for value in node.args.values()
            for part in (value if type(value) is list else (value,))
            if isinstance(part, exp.Expr)
        ]
        if len(children) > MAX_ARGUMENTS and sum(not isinstance(c, _UNCOUNTED) for c in children) > MAX_ARGUMENTS:
            fail_at(text, node, whole, f"more than {MAX_ARGUMENTS:,} arguments are in one call or list", _DEEP)
        for child in children:
            goes_on = isinstance(node, exp.Binary) and isinstance(child, exp.Binary)
            stack.append((child, height + (not goes_on), length + 1 if goes_on else 0))


EVENT_RULES = Rules(
    refused=(
        (exp.Query, "a subquery is not allowed in a query", "relate events by their symbols: A.user = B.user"),
        (exp.UDTF, "a table function is not allowed in a query", "compute it before the query"),
        (
            exp.Window,
            "a window function is not allowed in a query",
            "use WITHIN, and aggregates of symbols: SUM(A.x)",
        ),
        (exp.Order, "ORDER BY is not allowed in an expression", "events are in the order of their time"),
        (exp.Limit, "LIMIT is not allowed in an expression", "limit the result"),
        (exp.Lambda, "a lambda is not allowed in a query", "compute it as a column before the query"),
        (exp.Alias, "an alias is not allowed here", "AS names the results of RETURN only"),
        (exp.Kwarg, "a named argument is not allowed in a query", "give the arguments in order"),
        (exp.Slice, "a slice is not allowed in a query", "index one element: A.items[0], or use slice(...)"),
        (exp.Command, "this is not an expression", "is it a Spark SQL expression?"),
    ),
    check_node=_check_event_node,
    misplaced_hint=misplaced_hint,
    alias_hint="AS names the results of RETURN only",
    bracket_error=(
        "[...] must be a condition of its own in WHERE, joined by AND",
        "write WHERE ... AND [column]; an array is written ARRAY(1, 2)",
    ),
)
