"""Conjuncts as they are written, bound to symbols and a schema, and split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from eventide.expressions.split import Split, split
from eventide.lang import parse_events
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import Scalar, Strategy
from eventide.plan.logical import Match, Scan, Symbol
from eventide.plan.options import Options
from eventide.plan.references import qualify
from eventide.plan.scope import NO_TIME


def split_text(conjuncts: Sequence[str], symbols: Sequence[str], schema: pa.Schema) -> Split:
    """The split of conjuncts; a column without a symbol is that of the first."""
    text = " AND ".join(conjuncts)
    query = replace(parse_events("PATTERN SEQ(A, B)"), text=text)
    known = {name: Symbol(name, name, 1, False, False) for name in symbols}
    scan = Scan(Options(), schema, "", NO_TIME, None, ())
    plan = Match(scan, query, query.pattern, known, Strategy.ANY)

    def exact(scalar: Scalar) -> Scalar:
        return replace(scalar, tree=qualify(scalar.tree, scalar.span, plan, lambda column, span: symbols[0]))

    return split([exact(parse_scalar(conjunct)) for conjunct in conjuncts], symbols, schema, text)
