"""SQL's rules for single values, NULL being None: three-valued logic, comparison, arithmetic, casts, aggregates.

Numbers are int, float (DOUBLE) and Decimal; what mixes a double with anything is a double. As in Spark, NaN equals
itself and is greater than every number, `/` gives a double, and division by zero is NULL, as the project has it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)


def not_(value: bool | None) -> bool | None:
    """NOT: NULL stays NULL."""
    return None if value is None else not value


def all_of(values: Sequence[bool | None]) -> bool | None:
    """AND.

    >>> all_of([True, None]), all_of([False, None])
    (None, False)
    """
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def any_of(values: Sequence[bool | None]) -> bool | None:
    """OR."""
    return not_(all_of([not_(value) for value in values]))


def null_if_null(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with NULL as the result when any argument is NULL."""
    return lambda *arguments: None if any(argument is None for argument in arguments) else function(*arguments)


def order_key(value: Any) -> tuple[bool, Any]:
    """Values in SQL's order: NaN after every number."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return (is_nan, 0 if is_nan else value)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    if isinstance(left, float) != isinstance(right, float) and all(
        isinstance(value, int | float | Decimal) for value in (left, right)
    ):
        return float(left), float(right)
    if isinstance(left, str) != isinstance(right, str):
        raise TypeError(f"{left!r} and {right!r} cannot be compared")
    return left, right


@null_if_null
def equal(left: Any, right: Any) -> bool:
    """`=`."""
    left, right = _alike(left, right)
    return order_key(left) == order_key(right)


@null_if_null
def less(left: Any, right: Any) -> bool:
    """`<`."""
    left, right = _alike(left, right)
    return order_key(left) < order_key(right)


def is_in(value: Any, candidates: Sequence[Any]) -> bool | None:
    """IN: the OR of the equalities.

    >>> is_in(1, [2, None]), is_in(1, [1, None])
    (None, True)
    """
    return any_of([equal(value, candidate) for candidate in candidates])


def _arithmetic(exact: Callable[[Decimal, Decimal], Decimal], plain: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    @null_if_null
    def apply(left: Any, right: Any) -> Any:
        kinds = {type(left), type(right)}
        if Decimal not in kinds:
            return plain(left, right)
        if float in kinds:
            return plain(float(left), float(right))
        return exact(Decimal(left), Decimal(right))

    return apply


def _remainder(left: Any, right: Any) -> Any:
    """The remainder has the dividend's sign."""
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(left, right)
    return int(math.copysign(1, left)) * (abs(left) % abs(right))


add = _arithmetic(_EXACT.add, lambda left, right: left + right)
subtract = _arithmetic(_EXACT.subtract, lambda left, right: left - right)
multiply = _arithmetic(_EXACT.multiply, lambda left, right: left * right)
_modulo = _arithmetic(_EXACT.remainder, _remainder)


@null_if_null
def divide(left: Any, right: Any) -> float | None:
    """`/`.

    >>> divide(7, 2), divide(1, 0)
    (3.5, None)
    """
    return float(left) / float(right) if right != 0 else None


def modulo(left: Any, right: Any) -> Any:
    """`%`."""
    return None if right is not None and right == 0 else _modulo(left, right)


@null_if_null
def like(text: str, pattern: str) -> bool:
    """LIKE: `%` any characters, `_` one, a backslash takes the next literally.

    >>> like("a%c", "a\\\\%_"), like("abc", "a\\\\%_")
    (True, False)
    """
    pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return re.fullmatch("".join(wild.get(piece, re.escape(piece[-1])) for piece in pieces), text, re.DOTALL) is not None


@null_if_null
def text_of(value: Any) -> str:
    """CAST to VARCHAR."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@null_if_null
def cast(value: Any, kind: str, parameters: Sequence[int] = ()) -> Any:
    """CAST to INT, BIGINT, DOUBLE, VARCHAR, DECIMAL or BOOLEAN.

    >>> cast("2.345", "DECIMAL", [10, 2]), cast(-2.7, "INT"), cast(True, "VARCHAR")
    (Decimal('2.35'), -2, 'true')
    """
    match kind:
        case "INT" | "BIGINT" | "SMALLINT" | "TINYINT":
            return int(value)
        case "DOUBLE" | "FLOAT":
            return float(value)
        case "VARCHAR" | "TEXT" | "CHAR":
            return text_of(value)
        case "BOOLEAN":
            return {"true": True, "false": False}[value.lower()] if isinstance(value, str) else bool(value)
        case "DECIMAL":
            _, scale = [*parameters, *(10, 0)[len(parameters) :]]
            exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
            return exact.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    raise ValueError(f"no cast to {kind}")


def aggregate(function: str, values: Sequence[Any]) -> Any:
    """An aggregate of values that are not NULL; of none it is NULL, `count` is 0, `array_agg` is empty.

    >>> aggregate("avg", [1, 2]), aggregate("sum", []), aggregate("array_agg", [])
    (1.5, None, [])
    """
    if function == "count":
        return len(values)
    if function == "array_agg":
        return list(values)
    if not values:
        return None
    if function in ("min", "max"):
        return (min if function == "min" else max)(values, key=order_key)
    total = values[0]
    for value in values[1:]:
        total = add(total, value)
    if function == "sum":
        return total
    if isinstance(total, Decimal):
        # Spark: an average has four more digits than what it averages.
        digits = Decimal(1).scaleb(min(total.as_tuple().exponent, 0) - 4)
        return _EXACT.divide(total, Decimal(len(values))).quantize(digits, context=_EXACT)
    return total / len(values)
