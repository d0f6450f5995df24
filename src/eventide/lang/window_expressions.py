"""Expressions over windows: Spark SQL with its aggregates as they are written, DISTINCT and WITHIN GROUP included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from sqlglot import exp

from eventide.lang.keywords import AGGREGATES
from eventide.lang.scalars import EVENT_RULES, BoundedParser, fail_at
from eventide.lang.tree import Span

Build = Callable[[list[exp.Expr]], exp.Expr]

_BY: dict[str, Build] = {"MAX_BY": exp.ArgMax.from_arg_list, "MIN_BY": exp.ArgMin.from_arg_list}
# Of these sqlglot keeps all that is written, unless it is DISTINCT.
_ONE_OR_TWO = """
    ANY_VALUE AVG BIT_AND BIT_OR BIT_XOR BOOL_AND BOOL_OR CORR COUNT_IF COVAR_POP COVAR_SAMP FIRST_VALUE
    KURTOSIS LAST_VALUE MAX MIN REGR_AVGX REGR_AVGY REGR_COUNT REGR_INTERCEPT REGR_R2 REGR_SLOPE REGR_SXX
    REGR_SXY REGR_SYY SKEWNESS STDDEV STDDEV_POP STDDEV_SAMP SUM VARIANCE VAR_POP VAR_SAMP
"""


def _call(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=arguments)


def _plain_or_call(name: str, build: Build, arguments: list[exp.Expr]) -> exp.Expr:
    is_other = any(isinstance(each, exp.Distinct) for each in arguments) or (name in _BY and len(arguments) == 3)
    return _call(name, arguments) if is_other else build(arguments)


class _WindowParser(BoundedParser):
    """Aggregates of which sqlglot would refuse, reorder or lose arguments are calls like any other."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {
        **BoundedParser.FUNCTIONS,
        **{name: partial(_call, name) for name in AGGREGATES},
        **{name: partial(_plain_or_call, name, BoundedParser.FUNCTIONS[name]) for name in _ONE_OR_TWO.split()},
        **{name: partial(_plain_or_call, name, build) for name, build in _BY.items()},
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parse for name, parse in BoundedParser.FUNCTION_PARSERS.items() if name not in AGGREGATES
    }


def _check_node(text: str, node: exp.Expr, whole: Span) -> None:
    if isinstance(node, exp.Order) and not isinstance(node.parent, exp.WithinGroup):
        hint = "events are in the order of their time; listagg(x) WITHIN GROUP (ORDER BY y) has another"
        fail_at(text, node, whole, "ORDER BY is not allowed in an expression", hint)
    EVENT_RULES.check_node(text, node, whole)


WINDOW_RULES = replace(
    EVENT_RULES,
    refused=tuple(refused for refused in EVENT_RULES.refused if refused[0] is not exp.Order),
    check_node=_check_node,
    parser=_WindowParser,
)
