from __future__ import annotations

import pytest
from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang import Length, Name, Scalar, Span, parse, span_of
from eventide.lang.rows import parse_clause
from eventide.lang.rows.tree import Choice, Concat, Label, Permute, Quantified, RowQuery, Rows, Skip, SkipTo, SortItem


def cut(query: RowQuery, span: Span) -> str:
    return query.text[span.start : span.end]


def measure(text: str, pattern: str = "A B", rest: str = "") -> Scalar:
    return parse_clause(f"MEASURES {text} AS m PATTERN ({pattern}) {rest}").measures[0].value


def test_every_clause_has_its_place() -> None:
    query = parse_clause(
        """
        PARTITION BY user, "region" ORDER BY ts DESC NULLS LAST, id
        MEASURES LAST(b.price) AS price, MATCH_NUMBER() AS "no"
        ALL ROWS PER MATCH WITH UNMATCHED ROWS
        AFTER MATCH SKIP TO FIRST u
        PATTERN (a b{2,}?) WITHIN INTERVAL '5' MINUTE
        SUBSET u = (a, b)
        DEFINE b AS price > 1
        """
    )
    assert query.partition_by == (Name("user"), Name("region"))
    assert query.order_by == (SortItem(Name("ts"), True, False), SortItem(Name("id")))
    assert [item.alias.text for item in query.measures] == ["price", "no"]
    assert query.rows is Rows.ALL_WITH_UNMATCHED
    assert query.skip == Skip(SkipTo.FIRST, Name("U"))
    assert query.pattern == Concat((Label("A"), Quantified(Label("B"), 2, None, True)))
    assert query.within == Length(300_000_000)
    assert [(one.name.text, [member.text for member in one.members]) for one in query.subset] == [("U", ["A", "B"])]
    assert [definition.label for definition in query.define] == [Name("B")]


def test_the_defaults_are_those_of_the_standard() -> None:
    query = parse_clause("PATTERN (A)")
    assert (query.rows, query.skip, query.within) == (Rows.ONE, Skip(SkipTo.PAST_LAST_ROW), None)
    assert parse_clause("ALL ROWS PER MATCH PATTERN (A)").rows is Rows.ALL


def test_spans_are_offsets_into_the_text() -> None:
    query = parse_clause(
        "  ORDER BY ts DESC MEASURES a.x AS y AFTER MATCH SKIP TO LAST A PATTERN (A (B | C)+?) WITHIN 5 min "
        "SUBSET U = (A, B) DEFINE B AS x > 1  "
    )
    assert isinstance(query.pattern, Concat)
    assert cut(query, query.span) == query.text.strip()
    assert cut(query, query.order_by[0].span) == "ts DESC"
    assert cut(query, query.measures[0].span) == "a.x AS y"
    assert cut(query, query.skip.span) == "AFTER MATCH SKIP TO LAST A"
    assert [cut(query, part.span) for part in query.pattern.parts] == ["A", "(B | C)+?"]
    assert query.within is not None and cut(query, query.within.span) == "5 min"
    assert cut(query, query.subset[0].span) == "U = (A, B)"
    assert cut(query, query.define[0].span) == "B AS x > 1"
    assert cut(query, query.define[0].condition.span) == "x > 1"


@pytest.mark.parametrize("written", ["A{2,3}", "a{2,3}", "( A ) {2,3}", "`A`{2,3}", '"A"{2,3}'])
def test_a_label_is_upper_case_unless_quoted(written: str) -> None:
    assert parse_clause(f"PATTERN ({written})").pattern == Quantified(Label("A"), 2, 3)


def test_quoted_labels_are_exact() -> None:
    assert parse_clause('PATTERN ("a" `b c` d)').pattern == Concat((Label("a"), Label("b c"), Label("D")))


def test_concatenation_binds_closer_than_alternation() -> None:
    pattern = parse_clause("PATTERN (A B | PERMUTE(C, D E) | ())").pattern
    c, d_e = Label("C"), Concat((Label("D"), Label("E")))
    assert pattern == Choice((Concat((Label("A"), Label("B"))), Permute((c, d_e)), Concat(())))


# --- expressions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("PREV(x)", "PREV", ["x"]),
        ("next (b.x, 2)", "NEXT", ["B.x", "2"]),
        ("First(a.x, 1)", "FIRST", ["A.x", "1"]),
        ("last(x, 10)", "LAST", ["x", "10"]),
        ("classifier()", "CLASSIFIER", []),
        ("Classifier(a)", "CLASSIFIER", ["A"]),
        ("match_number()", "MATCH_NUMBER", []),
        ("running last(a.x, 2)", "RUNNING", ["LAST(A.x, 2)"]),
        ("FINAL sum(a.x)", "FINAL", ["SUM(A.x)"]),
        ("FINAL count(a.*) FILTER (WHERE a.x > 1)", "FINAL", ["COUNT(A.*) FILTER(WHERE A.x > 1)"]),
    ],
)
def test_navigation_is_a_call_of_that_name(text: str, name: str, arguments: list[str]) -> None:
    tree = measure(text).tree
    assert isinstance(tree, exp.Anonymous)
    assert tree.this == name
    assert [argument.sql("spark") for argument in tree.expressions] == arguments


def test_count_takes_all_rows_of_a_label() -> None:
    tree = measure("count(a.*)").tree
    assert isinstance(tree, exp.Count)
    assert tree.this == exp.Column(this=exp.Star(), table=exp.to_identifier("A"))
    assert measure("count()") == measure("count(*)")


def test_only_labels_are_spelt_in_upper_case() -> None:
    assert measure("a.price + u.price + c.price + a", rest="SUBSET U = (A, B)").tree.sql() == (
        "A.price + U.price + c.price + a"
    )


def test_a_label_before_two_dots_is_a_label_too() -> None:
    column = measure("a.who.name").tree
    assert isinstance(column, exp.Column)
    assert [part.name for part in column.parts] == ["A", "who", "name"]


def test_double_quotes_make_a_name_only_beside_a_dot() -> None:
    tree = measure('concat("b".x, "b", CLASSIFIER("b"), "b"."x")', '"b"').tree
    assert {column.sql("spark") for column in tree.find_all(exp.Column)} == {"`b`.x", "`b`", "`b`.`x`"}
    assert [literal.this for literal in tree.find_all(exp.Literal)] == ["b"]


def test_a_bare_name_is_no_quoted_label() -> None:
    assert measure("b.x", '"b"').tree.sql("spark") == "b.x"


def test_a_label_in_a_subquery_stays_as_written() -> None:
    assert measure("a.x + (SELECT max(a.x) FROM a)").tree.sql("spark") == "A.x + (SELECT MAX(a.x) FROM a)"


def test_a_subquery_covers_its_parentheses() -> None:
    text = "MEASURES x IN (SELECT f(y) FROM t) OR EXISTS (SELECT true) OR (SELECT (1)) > 2 AS m PATTERN (A)"
    tree = parse_clause(text).measures[0].value.tree
    spans = [span_of(node, Span(0, 0)) for node in tree.walk(bfs=False) if isinstance(node, exp.Subquery)]
    assert [text[span.start : span.end] for span in spans] == ["(SELECT f(y) FROM t)", "(SELECT (1))"]
    exists = tree.find(exp.Exists)
    assert exists is not None
    span = span_of(exists.this, Span(0, 0))
    assert text[span.start : span.end] == "(SELECT true)"


def test_places_stay_right_behind_running_and_quotes() -> None:
    text = 'MEASURES RUNNING LAST("b".x) + FINAL sum(a.y) AS m PATTERN (A "b")'
    tree = parse_clause(text).measures[0].value.tree
    spans = [span_of(node, Span(0, 0)) for node in (tree.this, tree.expression, tree.this.expressions[0])]
    assert [text[span.start : span.end] for span in spans] == [
        'RUNNING LAST("b".x)',
        "FINAL sum(a.y)",
        'LAST("b".x)',
    ]


def test_running_and_final_are_names_without_a_call_behind_them() -> None:
    assert measure("running + final").tree == exp.column("running") + exp.column("final")


@pytest.mark.parametrize("text", ["(SELECT 1)", "x IN (SELECT 1)", "EXISTS (SELECT 1)"])
def test_subqueries_stay_refused_in_event_patterns(text: str) -> None:
    assert measure(text)
    with pytest.raises(QueryError, match="a subquery is not allowed in a query"):
        parse(f"PATTERN A WHERE {text}")


# --- limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN " + "(" * 3000 + "A" + ")" * 3000,
        "PATTERN (" + "(" * 60 + "A" + " | B)+" * 60 + ")",
        "PATTERN (" + "PERMUTE(" * 3000 + "A" + ")" * 3000 + ")",
        "PATTERN (" + "{-" * 3000 + "A" + "-}" * 3000 + ")",
        "PATTERN (A) DEFINE A AS " + "(" * 3000 + "1" + ")" * 3000,
        "PATTERN (A) DEFINE A AS " + "(SELECT " * 3000 + "1" + ")" * 3000,
        "PATTERN (A) DEFINE A AS " + "RUNNING sum(" * 3000 + "1" + ")" * 3000,
        "PATTERN (A) DEFINE A AS " + "NOT " * 3000 + "x",
    ],
)
def test_deep_nesting_is_an_error(text: str) -> None:
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_clause(text)


def test_a_thousand_labels_are_no_nesting() -> None:
    labels = [f"L{idx}" for idx in range(1000)]
    definitions = ", ".join(f"{label} AS {label}.kind = {idx}" for idx, label in enumerate(labels))
    query = parse_clause(f"PATTERN ({' | '.join(labels)}) DEFINE {definitions}")
    assert len(query.define) == 1000


def test_a_clause_of_more_than_200_000_characters_is_refused() -> None:
    with pytest.raises(QueryError, match="200,013 characters"):
        parse_clause("PATTERN (A)--" + "x" * 200_000)
