"""The conditions of WHERE: split at the AND that joins them, `[column]` taken apart from the rest."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang.clauses import Clause
from eventide.lang.cursor import Cursor
from eventide.lang.scalars import read_scalar
from eventide.lang.tokens import Token, one_line
from eventide.lang.tree import Name, Scalar, Span

_WHAT = "the WHERE condition"
_MANY = 16


def read_where(text: str, clause: Clause) -> tuple[tuple[Name, ...], tuple[Scalar, ...]]:
    """The columns of `[a, b]` and the other conjuncts, in the order written."""
    same: dict[str, Name] = {}
    where: list[Scalar] = []
    tokens, after = clause.tokens[:-1], clause.tokens[-1]
    joints = conjunction_joints(tokens)
    at_once = _read_at_once(text, tokens, joints, after)
    if at_once is not None:
        return (), at_once
    for start, end in zip([-1, *joints], [*joints, len(tokens)], strict=True):
        part = tokens[start + 1 : end]
        if not part and joints:
            joint = tokens[end] if end < len(tokens) else tokens[start]
            side = "before" if end < len(tokens) else "after"
            message = f"a condition is missing {side} {joint}"
            raise QueryError(message, text, joint.start, joint.end, hint="AND joins two conditions")
        behind = tokens[end] if end < len(tokens) else after
        if part and part[0].is_punctuation("[") and _is_one_bracket(part):
            for name in _read_same(text, part):
                same.setdefault(name.text, name)
        else:
            scalar = read_scalar(text, part, behind, _WHAT, "WHERE A.x > 1")
            where += _flatten(scalar)
    return tuple(same.values()), tuple(where)


def _read_at_once(text: str, tokens: Sequence[Token], joints: Sequence[int], after: Token) -> tuple[Scalar, ...] | None:
    """Many conditions, read as one; None where they must be read one by one, also for a message about one of them."""
    if len(joints) < _MANY or any(token.is_punctuation("[") for token in tokens):
        return None
    try:
        whole = read_scalar(text, tokens, after, _WHAT)
    except QueryError:
        return None
    trees = list(whole.tree.flatten(unnest=False))
    if len(trees) != len(joints) + 1:
        return None
    where = []
    for tree, start, end in zip(trees, [-1, *joints], [*joints, len(tokens)], strict=True):
        assert isinstance(tree, exp.Expression)
        tree.parent = tree.arg_key = tree.index = None
        part = tokens[start + 1 : end]
        span = Span(part[0].start, part[-1].end)
        where.append(Scalar(tree, text[span.start : span.end], span, one_line(part)))
    return tuple(where)


def conjunction_joints(tokens: Sequence[Token]) -> list[int]:
    """Indices of the AND tokens that join top-level conjuncts; none when an OR stands beside them.

    >>> from eventide.lang.tokens import tokenize
    >>> conjunction_joints(tokenize("a BETWEEN 1 AND 2 AND (b OR c)"))
    [5]
    """
    joints: list[int] = []
    depth = n_cases = n_betweens = 0
    for idx, token in enumerate(tokens):
        word = "" if idx and tokens[idx - 1].is_punctuation(".") else token.word
        if token.text in ("(", "["):
            depth += 1
        elif token.text in (")", "]"):
            depth -= 1
        elif word == "CASE":
            n_cases += 1
        elif word == "END" and n_cases:
            n_cases -= 1
        elif n_cases:
            continue
        elif depth == 0 and word == "BETWEEN":
            n_betweens += 1
        elif depth == 0 and word == "AND":
            if n_betweens:
                n_betweens -= 1
            else:
                joints.append(idx)
        elif depth == 0 and word == "OR":
            return []
    return joints


def _is_one_bracket(tokens: Sequence[Token]) -> bool:
    return next((idx for idx, token in enumerate(tokens) if token.text == "]"), -1) == len(tokens) - 1


def _read_same(text: str, tokens: Sequence[Token]) -> tuple[Name, ...]:
    cursor = Cursor(text, tokens[1:], "[...]")
    if cursor.ended:
        hint = "name the columns that all events share: [user]"
        raise QueryError("[] names no column", text, tokens[0].start, tokens[-1].end, hint=hint)
    names = cursor.names()
    cursor.finish("the column name", hint="separate the columns with commas")
    return names


def _flatten(scalar: Scalar) -> list[Scalar]:
    if not isinstance(scalar.tree, exp.And):
        return [scalar]
    return [
        Scalar(part, scalar.text, scalar.span) for part in scalar.tree.flatten() if isinstance(part, exp.Expression)
    ]
