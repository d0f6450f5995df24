"""Conjuncts as they are written, bound to symbols and a schema, and split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from eventide.expressions.split import Split, split
from eventide.lang import parse
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import Scalar
from eventide.plan.bound import Symbol
from eventide.plan.references import qualify


def split_text(conjuncts: Sequence[str], symbols: Sequence[str], schema: pa.Schema) -> Split:
    """The split of conjuncts; a column without a symbol is that of the first."""
    text = " AND ".join(conjuncts)
    query = replace(parse("PATTERN SEQ(A, B)"), text=text)
    known = {name: Symbol(name, name, 1, False, False) for name in symbols}

    def exact(scalar: Scalar) -> Scalar:
        tree = qualify(scalar.tree, scalar.span, query, schema, known, lambda column, span: symbols[0])
        return replace(scalar, tree=tree)

    return split([exact(parse_scalar(conjunct)) for conjunct in conjuncts], symbols, schema, text)
