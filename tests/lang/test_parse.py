from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest
from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang import (
    And,
    Length,
    Name,
    Not,
    Or,
    Repeat,
    Seq,
    Span,
    Step,
    Strategy,
    Window,
    parse,
    parse_length,
    parse_scalar,
    span_of,
)

A, B, C = (Step(name, name) for name in "ABC")
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("A", A),
        ("Check C", Step("Check", "C")),
        ("Check C+", Repeat(Step("Check", "C"), 1, None)),
        ("A*", Repeat(A, 0, None)),
        ("A?", Repeat(A, 0, 1)),
        ("A{2}", Repeat(A, 2, 2)),
        ("A{2,}", Repeat(A, 2, None)),
        ("A{,2}", Repeat(A, 0, 2)),
        ("A{1,2}", Repeat(A, 1, 2)),
        ("ITER(A, 3)", Repeat(A, 3, 3)),
        ("(A+)+", Repeat(Repeat(A, 1, None), 1, None)),
        ("A+?", Repeat(Repeat(A, 1, None), 0, 1)),
        ("seq(A, B)", Seq((A, B))),
        ("SEQ(A)", Seq((A,))),
        ("AND(A, OR(B, C))", And((A, Or((B, C))))),
        ("SEQ(A, NOT B+, C)", Seq((A, Not(Repeat(B, 1, None)), C))),
        ("SEQ(A, NOT SEQ(B, NOT C), A)", Seq((A, Not(Seq((B, Not(C)))), A))),
    ],
)
def test_patterns(text: str, pattern: object) -> None:
    assert parse(f"PATTERN {text}").pattern == pattern


def test_pattern_nodes_know_their_text() -> None:
    text = "PATTERN SEQ(Check C+, NOT (B), A)"
    query = parse(text)
    assert isinstance(query.pattern, Seq)
    spans = [query.pattern.span, *(part.span for part in query.pattern.parts)]
    assert [text[span.start : span.end] for span in spans] == [text[8:], "Check C+", "NOT (B)", "A"]


CLAUSES = ["FROM x", "PATTERN A+", "WHERE A.x > 1 AND [u]", "WITHIN 1 h", "RETURN COUNT(*) AS n", "GROUP BY g"]


def test_clauses_stand_in_any_order() -> None:
    expected = parse(" ".join(CLAUSES))
    for order in list(permutations(CLAUSES))[::37]:
        assert parse("\n".join(order)) == expected


def test_keywords_stand_in_any_case() -> None:
    assert parse("pattern A Within 5 Minutes min Length 2") == parse("PATTERN A WITHIN 5 MINUTES MIN LENGTH 2")


def test_line_ends_do_not_matter() -> None:
    text = "FROM x -- source\nPATTERN A\nWHERE A.x = 1\n  AND [u]"
    assert parse(text.replace("\n", "\r\n")) == parse(text)


def test_keywords_inside_brackets_and_after_a_dot_are_names() -> None:
    query = parse("PATTERN SEQ(from, where w) WHERE w.within > 1 AND coalesce(pattern, 1) = 2")
    assert query.pattern == Seq((Step("from", "from"), Step("where", "w")))
    assert len(query.where) == 2


def test_an_optional_pattern_may_stand_alone() -> None:
    assert parse("PATTERN A*").pattern == Repeat(A, 0, None)


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("any", Strategy.ANY),
        ("SKIP-TILL-ANY", Strategy.ANY),
        ("skip_till_any_match", Strategy.ANY),
        ("skip till next", Strategy.NEXT),
        ("next-match", Strategy.NEXT),
        ("contiguous", Strategy.CONTIGUOUS),
    ],
)
def test_strategies_have_tolerant_names(text: str, strategy: Strategy) -> None:
    assert parse(f"PATTERN A SEMANTICS {text}").semantics is strategy


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1 microsecond", 1),
        ("1us", 1),
        ("2 ms", 2_000),
        ("3 s", 3 * SECOND),
        ("3 SEC", 3 * SECOND),
        ("4m", 240 * SECOND),
        ("1.5 minutes", 90 * SECOND),
        ("0.000001 seconds", 1),
        ("1 h 30 min", 5400 * SECOND),
        ("1 day", 86_400 * SECOND),
        ("2 weeks", 14 * 86_400 * SECOND),
        ("INTERVAL '5' MINUTE", 300 * SECOND),
        ("INTERVAL 5 MINUTES", 300 * SECOND),
        ("INTERVAL '1 day 1 hour'", 90_000 * SECOND),
        ("'90 seconds'", 90 * SECOND),
    ],
)
def test_times_are_microseconds(text: str, amount: int) -> None:
    assert parse_length(text) == Length(amount)
    assert parse(f"PATTERN A WITHIN {text}").window == Window(Length(amount))


def test_a_window_may_count_events() -> None:
    window = parse("PATTERN A WITHIN 100 EVENTS SLIDE 10 EVENTS").window
    assert window == Window(Length(100, True), Length(10, True))


def test_equality_predicates_leave_where() -> None:
    query = parse("PATTERN A WHERE [a, `b c`] AND A.x = 1 AND [a]")
    assert query.same == (Name("a"), Name("b c"))
    assert [scalar.text for scalar in query.where] == ["A.x = 1"]


@pytest.mark.parametrize(
    ("where", "conjuncts"),
    [
        ("(a + 1) > 2 AND (b)", ["(a + 1) > 2", "(b)"]),
        ("a BETWEEN 1 AND 2 AND b", ["a BETWEEN 1 AND 2", "b"]),
        ("a BETWEEN b BETWEEN 1 AND 2 AND 3 AND c", None),
        ("CASE WHEN a AND b THEN c END AND d", ["CASE WHEN a AND b THEN c END", "d"]),
        ("a OR b AND c", ["a OR b AND c"]),
        ("NOT a AND -- why\n b IS NULL", ["NOT a", "b IS NULL"]),
        ("A.and AND A.case AND A.`end`", ["A.and", "A.case", "A.`end`"]),
    ],
)
def test_where_is_split_at_its_top_level_and(where: str, conjuncts: list[str] | None) -> None:
    text = f"PATTERN A WHERE {where} RETURN A.x"
    if conjuncts is None:
        with pytest.raises(QueryError):
            parse(text)
        return
    query = parse(text)
    assert [scalar.text for scalar in query.where] == conjuncts
    assert [text[scalar.span.start : scalar.span.end] for scalar in query.where] == conjuncts


def test_next_keeps_its_shape_and_is_written_large() -> None:
    tree = parse("PATTERN C+ WHERE C.a = next(C).b").where[0].tree.expression
    assert isinstance(tree, exp.Dot)
    assert (tree.this.name, tree.this.expressions[0].name, tree.expression.name) == ("NEXT", "C", "b")


def test_count_may_take_a_star_or_all_columns_of_a_symbol() -> None:
    assert len(parse("PATTERN A+ RETURN COUNT(*), COUNT(A.*)").returns) == 2


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (exp.Sum, "SUM(A.x)"),
        (exp.Paren, "((A.y) + 1)"),
        (exp.Cast, "CAST(A.z AS INT)"),
        (exp.Anonymous, "foo(A.x, '😀')"),
        (exp.Bracket, "A.m['k']"),
        (exp.In, "A.x IN (1, 2)"),
    ],
)
def test_nodes_know_their_text(kind: type[exp.Expression], text: str) -> None:
    query = f"PATTERN A -- größe 😀\nWHERE A.w > {text} AND 1 = 1"
    node = parse(query).where[0].tree.find(kind)
    assert node is not None
    span = span_of(node, Span(0, 0))
    assert query[span.start : span.end] == text


def test_a_node_without_a_place_has_the_default() -> None:
    assert span_of(exp.null(), Span(3, 5)) == Span(3, 5)


def test_a_scalar_stands_on_its_own() -> None:
    assert parse_scalar("price > 2").tree == (exp.column("price") > 2)


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN " + "(" * 3000 + "A" + ")" * 3000,
        "PATTERN A" + "+" * 3000,
        "PATTERN " + "SEQ(" * 3000 + "A" + ")" * 3000,
        "PATTERN " + "(" * 60 + "A" + "+)" * 60 + "*" * 60,
        "PATTERN A WHERE " + "(" * 3000 + "1" + ")" * 3000,
        "PATTERN A WHERE " + "f(" * 25 + "1" + ")" * 25,
        "PATTERN A WHERE " + "NOT " * 3000 + "x",
        "PATTERN A WHERE " + "- " * 3000 + "x",
        "PATTERN A WHERE x" + "::int" * 3000,
        "PATTERN A WHERE " + "CASE WHEN " * 100 + "x" + " THEN 1 END" * 100,
        "PATTERN A WHERE " + "struct(" * 20 + "x" + ")" * 20,
    ],
)
def test_deep_nesting_is_an_error(text: str) -> None:
    with pytest.raises(QueryError, match="nested too deeply"):
        parse(text)


def test_long_chains_are_no_nesting() -> None:
    text = "PATTERN A WHERE " + " AND ".join(["A.x > 1"] * 500) + " RETURN " + " || ".join(["A.s"] * 2000)
    assert len(parse(text).where) == 500


def test_a_long_chain_of_or_is_a_tree_of_few_levels_that_writes_the_same_text() -> None:
    text = " OR ".join(f"A.x = {i}" for i in range(4000))
    (condition,) = parse(f"PATTERN A WHERE {text}").where
    depth = max(len(list(_ancestors(column))) for column in condition.tree.find_all(exp.Column))
    assert (depth, condition.tree.sql("spark")) == (13, text)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "%", "="])
def test_operators_in_a_row_have_a_limit_that_the_error_names(sign: str) -> None:
    parse(f"PATTERN A RETURN {f' {sign} '.join(['A.x'] * 201)} AS v")
    with pytest.raises(QueryError, match="more than 200 operators in a row") as caught:
        parse(f"PATTERN A RETURN {f' {sign} '.join(['A.x'] * 5000)} AS v")
    assert (caught.value.column, len(str(caught.value)) < 1000) == (18, True)


def test_parentheses_make_a_long_sum_short() -> None:
    ten = "(" + " + ".join(["A.x"] * 100) + ")"
    parse(f"PATTERN A RETURN {' + '.join([ten] * 20)} AS v")


def test_arguments_have_a_limit_and_literals_do_not_count() -> None:
    parse(f"PATTERN A WHERE A.x IN ({', '.join(map(str, range(9000)))})")
    with pytest.raises(QueryError, match="more than 1,000 arguments"):
        parse(f"PATTERN A RETURN coalesce({', '.join(['A.x'] * 1001)}) AS v")


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node


def test_twenty_levels_of_brackets_are_fine() -> None:
    text = "abs(" * 20 + "A.x" + ")" * 20
    assert parse(f"PATTERN A RETURN {text}").returns[0].value.text == text


def test_a_text_of_more_than_100_000_characters_is_refused() -> None:
    with pytest.raises(QueryError, match="100,011 characters"):
        parse("PATTERN A--" + "x" * 100_000)
