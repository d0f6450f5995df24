"""Hypothesis strategies for random MATCH_RECOGNIZE clauses, valid by construction."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from sqlglot import exp

from eventide.lang import Length, Name
from eventide.lang.rows.patterns import labels_of
from eventide.lang.rows.tree import (
    Anchor,
    Choice,
    Concat,
    Excluded,
    Label,
    LabelDefinition,
    Measure,
    Permute,
    Quantified,
    RowPattern,
    RowQuery,
    Rows,
    Skip,
    SkipTo,
    SortItem,
    Subset,
)
from tests.lang.strategies import name_lists, name_texts, names
from tests.lang.strategies import scalars as event_scalars

label_names = st.one_of(
    st.sampled_from(["A", "B", "UP", "b", "PERMUTE", "LAST", "NEXT", "ROW", "a b", "a`b", 'a"b', "GRÖSSE", "ß"]),
    name_texts,
)
leaves: st.SearchStrategy[RowPattern] = st.one_of(
    st.builds(Label, label_names), st.builds(Anchor, st.booleans()), st.just(Concat(()))
)


@st.composite
def _quantified(draw: st.DrawFn, parts: st.SearchStrategy[RowPattern]) -> Quantified:
    minimum = draw(st.integers(0, 4))
    maximum = draw(st.one_of(st.none(), st.integers(max(minimum, 1), 6)))
    return Quantified(draw(parts), minimum, maximum, draw(st.booleans()))


def _nest(parts: st.SearchStrategy[RowPattern]) -> st.SearchStrategy[RowPattern]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Concat, several),
        st.builds(Choice, several),
        st.builds(Permute, st.lists(parts, min_size=1, max_size=3).map(tuple)),
        st.builds(Excluded, parts),
        _quantified(parts),
    )


def _called(node: exp.Expression) -> exp.Expression:
    """Aggregates but COUNT are calls like any other."""
    if isinstance(node, exp.AggFunc) and not isinstance(node, exp.Count):
        return exp.Anonymous(this=node.sql_name(), expressions=[node.this.transform(_called)])
    return node


patterns: st.SearchStrategy[RowPattern] = st.recursive(leaves, _nest, max_leaves=8)
# The labels of a clause are spelt in one way only, as `test_parse` shows; other tables stay as they are.
# NEXT(C).x belongs to the query language; here NEXT takes a value.
scalars = event_scalars.filter(lambda scalar: "NEXT" not in scalar.tree.sql().upper()).map(
    lambda scalar: replace(scalar, tree=scalar.tree.transform(_called))
)
sort_items = st.builds(SortItem, names, st.booleans(), st.sampled_from([None, True, False]))


@st.composite
def queries(draw: st.DrawFn) -> RowQuery:
    pattern = draw(patterns)
    labels = list(dict.fromkeys(label.name for label in labels_of(pattern)))
    subset: tuple[Subset, ...] = ()
    if labels:
        members = st.lists(st.sampled_from(labels).map(Name), min_size=1, unique_by=lambda name: name.text)
        free = label_names.filter(lambda name: name not in labels).map(Name)
        subsets = st.builds(Subset, free, members.map(tuple))
        subset = tuple(draw(st.lists(subsets, max_size=2, unique_by=lambda one: one.name.text)))
    known = [*labels, *(one.name.text for one in subset)]
    to = draw(st.sampled_from(SkipTo if known else [SkipTo.PAST_LAST_ROW, SkipTo.NEXT_ROW]))
    skipped = to in (SkipTo.FIRST, SkipTo.LAST)
    defined = draw(st.lists(st.sampled_from(labels), max_size=2, unique=True)) if labels else []
    spelt = scalars.filter(lambda scalar: not {*known} & {column.table for column in scalar.tree.find_all(exp.Column)})
    measures = st.builds(Measure, spelt, names)
    return RowQuery(
        text="",
        pattern=pattern,
        define=tuple(LabelDefinition(Name(label), draw(spelt)) for label in defined),
        partition_by=draw(name_lists()),
        order_by=tuple(draw(st.lists(sort_items, max_size=3, unique_by=lambda item: item.column.text))),
        measures=tuple(draw(st.lists(measures, max_size=3, unique_by=lambda one: one.alias.text))),
        rows=draw(st.sampled_from(Rows)),
        skip=Skip(to, Name(draw(st.sampled_from(known))) if skipped else None),
        within=draw(st.one_of(st.none(), st.builds(Length, st.integers(1, 10**12), st.booleans()))),
        subset=subset,
    )
