"""The body of one test function: SQL's three-valued logic as straight Python that Numba compiles.

Goes in: a typed tree over the rows of some events. Comes out: source text in which every expression has a variable for
its value and one for being NULL.
Operands that may fail (integer overflow) are computed only where SQL would look at them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa

from eventide.expressions.code_spaces import CodeSpaces
from eventide.expressions.split import MAX_OPERATIONS, too_many_operations
from eventide.expressions.typed import Source, Typed, off_the_list
from eventide.expressions.types import as_decimal, integer_range, kind
from eventide.runtime.encode import Encoding, literal_code

DECORATOR = "@njit(cache=True, nogil=True)\n"
ONE_EVENT_HINT = "relate the events by comparisons and arithmetic of what is computed from each alone"
_DAY_US = 86_400_000_000

_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FLOAT_COMPARE = {
    "eq": "eq_float({0}, {1})",
    "ne": "not eq_float({0}, {1})",
    "lt": "lt_float({0}, {1})",
    "le": "not lt_float({1}, {0})",
    "gt": "lt_float({1}, {0})",
    "ge": "not lt_float({0}, {1})",
}
_FLOAT_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "add_interval": "+", "sub_interval": "-"}
_INT_ARITHMETIC = {
    "add": "add_int",
    "sub": "sub_int",
    "mul": "mul_int",
    "add_interval": "add_int",
    "sub_interval": "sub_int",
    "add_days": "add_int",
    "sub_days": "sub_int",
}
_CALLS = {
    "SQRT": "np.sqrt({0})",
    "EXP": "np.exp({0})",
    "LN": "np.log({0})",
    "LOG2": "np.log2({0})",
    "LOG10": "np.log10({0})",
    "SIN": "np.sin({0})",
    "COS": "np.cos({0})",
    "TAN": "np.tan({0})",
    "ASIN": "np.arcsin({0})",
    "ACOS": "np.arccos({0})",
    "ATAN": "np.arctan({0})",
    "SINH": "np.sinh({0})",
    "COSH": "np.cosh({0})",
    "TANH": "np.tanh({0})",
    "DEGREES": "np.degrees({0})",
    "RADIANS": "np.radians({0})",
    "SIGN": "sign({0})",
    "POWER": "power({0}, {1})",
    "ATAN2": "np.arctan2({0} + 0.0, {1} + 0.0)",
    "DATEDIFF": "{0} - {1}",
}
_SEARCHED = 8  # from so many items on, IN looks them up in a sorted array
_NESTED = 20  # operands of CASE that are written as blocks inside one another
_POSITIVE_ONLY = ("LN", "LOG2", "LOG10")


Place = tuple[int, int, int]  # of a value in the arrays of `encode_columns`: array, row, row of what is valid


@dataclass(frozen=True, slots=True)
class Encoded:
    """What the functions of a query share: code spaces, values in arrays, and the functions that are called."""

    spaces: CodeSpaces
    encodings: tuple[Encoding, ...]
    places: Mapping[int, Place]
    called: set[str]
    columns: tuple[str, str, str] = ("cols[0]", "cols[1]", "cols[2]")  # the arrays, as the kernel calls them

    def read(self, i: int, row: str) -> tuple[str, str]:
        """The text of value i in a row, and that of its being there."""
        array, at, valid_at = self.places[i]
        return f"{self.columns[array]}[{at}, {row}]", f"{self.columns[2]}[{valid_at}, {row}]"


class TestWriter:
    """Writes one function; every expression gets a variable for its value and one for being NULL.

    A family whose functions find their rows themselves says so by `begin`; where it `may_miss` one, the row is -1, and
    everything read there is NULL.
    """

    __test__ = False  # pytest takes its name for that of tests
    may_miss = False

    def __init__(self, encoded: Encoded, source: Source) -> None:
        self.spaces = encoded.spaces
        self.read = encoded.read
        self.called = encoded.called
        self.source = source
        self.lines: list[str] = []
        self.depth = 1
        self.n_variables = 0

    def function(self, name: str, tree: Typed, arguments: str) -> str:
        """The source of the function."""
        value, null = self.begun(tree)
        self.line(f"return {value} and not {null}")
        return f"{DECORATOR}def {name}({arguments}):\n" + "\n".join(self.lines) + "\n"

    def begun(self, tree: Typed) -> tuple[str, str]:
        """Lines that find the rows and compute the expression."""
        cause = off_the_list(tree)
        if cause is not None:
            raise self._unsupported(cause)
        self.begin()
        return self.write(tree)

    def begin(self) -> None:
        """Lines that set `row_0`, `row_1`, ... to the rows of the slots; by default they are arguments."""

    def row(self, slot: int) -> str:
        """The variable with the row of a slot."""
        return f"row_{slot}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def variables(self) -> tuple[str, str]:
        self.n_variables += 1
        if self.n_variables > MAX_OPERATIONS:
            raise too_many_operations(self.source)
        return f"x{self.n_variables}", f"n{self.n_variables}"

    def call(self, name: str, *args: str) -> str:
        self.called.add(name)
        return f"{name}({', '.join(args)})"

    def guarded(self, typed: Typed, null: str, text: str) -> tuple[str, str]:
        """A variable that is computed only where it is not NULL."""
        x, n = self.variables()
        self.line(f"{x} = {_zero(typed.dtype)}")
        self.line(f"{n} = {null}")
        self.line(f"if not {n}:")
        self.line(f"    {x} = {text}")
        return x, n

    def write(self, typed: Typed) -> tuple[str, str]:
        """Lines that compute the expression; the names of its value and of its being NULL."""
        if typed.dtype == pa.null():
            return "0", "True"
        if typed.op in _COMPARE:
            return self._comparison(typed)
        if typed.op in _INT_ARITHMETIC or typed.op in ("div", "mod", "int_div", "neg", "abs"):
            return self._arithmetic(typed)
        writer = getattr(self, f"_{typed.op}", None)
        if writer is None:
            raise self._unsupported(typed)
        written: tuple[str, str] = writer(typed)
        return written

    def _unsupported(self, typed: Typed) -> Exception:
        shown = self.source.text[typed.span.start : typed.span.end]
        return self.source.error(f"events cannot be related by {shown}", typed.span, ONE_EVENT_HINT)

    # --- leaves ---------------------------------------------------------------------------------------------

    def _value(self, typed: Typed) -> tuple[str, str]:
        slot, i = typed.value
        row = self.row(slot)
        value, present = self.read(i, row)
        x, n = self.variables()
        self.line(f"{x} = {value}{_truth(typed.dtype)}")
        # Row -1, which is no row, reads the last one, and the value is not looked at.
        self.line(f"{n} = {f'{row} < 0 or ' if self.may_miss else ''}not {present}")
        return x, n

    def kept(self, typed: Typed, value: str, n_values: str) -> tuple[str, str]:
        """An aggregate that has a value only where something was aggregated."""
        x, n = self.variables()
        self.line(f"{n} = {'False' if typed.value.function == 'COUNT' else f'{n_values} == 0'}")
        self.line(f"{x} = {n_values if typed.value.function == 'COUNT' else value}{_truth(typed.dtype)}")
        return x, n

    def _literal(self, typed: Typed) -> tuple[str, str]:
        if typed.value is None:
            return _zero(typed.dtype), "True"
        if typed.dtype == pa.string():
            space = self.spaces.of_literal(typed)
            return str(literal_code(typed.value, space.literals, space.ordered)), "False"
        if kind(typed.dtype) == "decimal":
            scaled = int(typed.value.scaleb(as_decimal(typed.dtype).scale))
            if abs(scaled) >= 1 << 63:
                raise self._unsupported(typed)
            return f"({scaled})", "False"
        if isinstance(typed.value, float) and not math.isfinite(typed.value):
            return f"({'-' if typed.value < 0 else ''}np.{'nan' if math.isnan(typed.value) else 'inf'})", "False"
        return f"({typed.value!r})", "False"

    # --- booleans -------------------------------------------------------------------------------------------

    def _comparison(self, typed: Typed) -> tuple[str, str]:
        (a, na), (b, nb) = self._operands(typed)
        x, n = self.variables()
        self.line(f"{n} = {na} or {nb}")
        self.line(f"{x} = not {n} and ({self._compare(typed.op, a, b, typed.args[0].dtype)})")
        return x, n

    def _compare(self, op: str, a: str, b: str, dtype: pa.DataType) -> str:
        if kind(dtype) not in ("float", "double"):
            return f"{a} {_COMPARE[op]} {b}"
        text = _FLOAT_COMPARE[op].format(a, b)
        self.called.update(name for name in ("eq_float", "lt_float") if name in text)
        return text

    def _operands(self, typed: Typed) -> list[tuple[str, str]]:
        written = []
        for arg, other in zip(typed.args, reversed(typed.args), strict=True):
            factor = _scaled_by(arg)
            inner = other.args[0] if other.op == "cast" else other
            if factor > 1 and kind(inner.dtype) == "decimal" and as_decimal(inner.dtype).precision <= 18:
                a, na = self.write(arg.args[0])
                written.append((self.call("scale_for_compare", a, str(factor)), na))
            else:
                written.append(self.write(arg))
        return written

    def _same(self, typed: Typed) -> tuple[str, str]:
        (a, na), (b, nb) = (self.write(arg) for arg in typed.args)
        x, _ = self.variables()
        equal = self._compare("eq", a, b, typed.args[0].dtype)
        self.line(f"{x} = ({na} and {nb}) or (not {na} and not {nb} and ({equal}))")
        return x, "False"

    def _and(self, typed: Typed) -> tuple[str, str]:
        return self._connector(typed, stops_on=False)

    def _or(self, typed: Typed) -> tuple[str, str]:
        return self._connector(typed, stops_on=True)

    def _connector(self, typed: Typed, stops_on: bool) -> tuple[str, str]:
        a, na = self.write(typed.args[0])
        x, n = self.variables()
        decided = "{0}" if stops_on else "not {0}"
        self.line(f"{x} = {stops_on}")
        self.line(f"{n} = False")
        self.line(f"if {na} or not ({decided.format(a)}):")
        self.depth += 1
        b, nb = self.write(typed.args[1])
        self.line(f"if {nb} or not ({decided.format(b)}):")
        self.line(f"    {n} = {na} or {nb}")
        self.line(f"    {x} = {not stops_on} and not {n}")
        self.depth -= 1
        return x, n

    def _not(self, typed: Typed) -> tuple[str, str]:
        a, na = self.write(typed.args[0])
        x, _ = self.variables()
        self.line(f"{x} = not {a}")
        return x, na

    def _is_null(self, typed: Typed) -> tuple[str, str]:
        _, na = self.write(typed.args[0])
        return na, "False"

    def _in(self, typed: Typed) -> tuple[str, str]:
        written = [self.write(arg) for arg in typed.args]
        (a, na), items = written[0], written[1:]
        x, n = self.variables()
        dtype = typed.args[0].dtype
        if len(items) > _SEARCHED and all(map(_is_number, typed.args[1:])):
            self.line(f"{n} = {na}")
            self.line(f"{x} = not {n} and {self.call('is_among', a, self._constant(sorted(b for b, _ in items)))}")
            return x, n
        tests = [f"(not {nb} and ({self._compare('eq', a, b, dtype)}))" for b, nb in items]
        self.line(f"{x} = not {na} and ({' or '.join(tests)})")
        self.line(f"{n} = {na} or (not {x} and ({' or '.join(nb for _, nb in items)}))")
        return x, n

    def _constant(self, texts: Sequence[str]) -> str:
        """The name of an array of the module that holds the numbers, ascending."""
        values = ", ".join(dict.fromkeys(texts))
        name = f"in_{blake2b(values.encode(), digest_size=8).hexdigest()}"
        self.called.add(f"{name} = np.unique(np.array([{values}]))")
        return name

    # --- choices --------------------------------------------------------------------------------------------

    def _case(self, typed: Typed) -> tuple[str, str]:
        x, n = self.variables()
        self.line(f"{x} = {_zero(typed.dtype)}")
        self.line(f"{n} = True")
        depth = self.depth
        # Python takes no more than a hundred levels of blocks: past some, a branch looks whether it is its turn.
        turn = f"t{x[1:]}" if len(typed.args) > _NESTED else None
        if turn is not None:
            self.line(f"{turn} = True")
        for i in range(0, len(typed.args) - 1, 2):
            if turn is not None:
                self.line(f"if {turn}:")
                self.depth += 1
            test, no_test = self.write(typed.args[i])
            self.line(f"if {test} and not {no_test}:")
            self.depth += 1
            self._assign(x, n, typed.args[i + 1])
            if turn is not None:
                self.line(f"{turn} = False")
                self.depth = depth
                continue
            self.depth -= 1
            self.line("else:")
            self.depth += 1
        if turn is not None:
            self.line(f"if {turn}:")
            self.depth += 1
        self._assign(x, n, typed.args[-1])
        self.depth = depth
        return x, n

    def _assign(self, x: str, n: str, typed: Typed) -> None:
        a, na = self.write(typed)
        self.line(f"{x} = {a}")
        self.line(f"{n} = {na}")

    def _coalesce(self, typed: Typed) -> tuple[str, str]:
        x, n = self.variables()
        self._assign(x, n, typed.args[0])
        for arg in typed.args[1:]:
            self.line(f"if {n}:")
            self.depth += 1
            self._assign(x, n, arg)
            self.depth -= 1
        return x, n

    def _least(self, typed: Typed) -> tuple[str, str]:
        x, n = self.variables()
        self._assign(x, n, typed.args[0])
        for arg in typed.args[1:]:
            a, na = self.write(arg)
            better = self._compare("lt" if typed.op == "least" else "gt", a, x, typed.dtype)
            self.line(f"if not {na} and ({n} or ({better})):")
            self.line(f"    {x} = {a}")
            self.line(f"    {n} = False")
        return x, n

    _greatest = _least

    # --- numbers and times ----------------------------------------------------------------------------------

    def _arithmetic(self, typed: Typed) -> tuple[str, str]:
        written = [self.write(arg) for arg in typed.args]
        values = [a for a, _ in written]
        null = " or ".join(na for _, na in written)
        name = kind(typed.dtype)
        if name == "decimal" and typed.op in ("div", "mod", "int_div"):
            raise self._unsupported(typed)
        if typed.op in ("div", "mod", "int_div"):
            null = f"{null} or {values[1]} == 0"
        return self.guarded(typed, null, self._operation(typed, values))

    def _operation(self, typed: Typed, values: list[str]) -> str:
        if kind(typed.dtype) in ("float", "double"):
            signs = {"neg": f"-{values[0]}", "abs": f"abs({values[0]})"}
            if typed.op in signs:
                return signs[typed.op]
            infix = {"div": "/", **_FLOAT_ARITHMETIC}.get(typed.op)
            text = f"np.fmod({', '.join(values)})" if infix is None else f"{values[0]} {infix} {values[1]}"
            # Rounding the double once more is exact: it has more than twice a float's digits.
            return f"np.float64(np.float32({text}))" if typed.dtype == pa.float32() else text
        if typed.op == "abs":
            text = f"{values[0]} if {values[0]} >= 0 else {self.call('neg_int', values[0])}"
        else:
            functions = {"neg": "neg_int", "mod": "mod_int", "int_div": "div_int", **_INT_ARITHMETIC}
            text = self.call(functions[typed.op], *values)
        return self._fitted(text, typed.dtype)

    def _fitted(self, text: str, dtype: pa.DataType) -> str:
        if kind(dtype) != "integer" or dtype == pa.int64():
            return text
        return self.call("fit_int", text, *map(str, integer_range(dtype)))

    def _between_times(self, typed: Typed) -> tuple[str, str]:
        (a, na), (b, nb) = (self.write(arg) for arg in typed.args)
        text = self.call("sub_int", a, b)
        if typed.args[0].dtype == pa.date32():
            text = self.call("mul_int", text, str(_DAY_US))
        return self.guarded(typed, f"{na} or {nb}", text)

    def _cast(self, typed: Typed) -> tuple[str, str]:
        (arg,) = typed.args
        pair = kind(arg.dtype), kind(typed.dtype)
        a, na = self.write(arg)
        factor = _scaled_by(typed)
        if pair in (("timestamp", "timestamp"), ("float", "double")) or factor == 1:
            return a, na
        if factor > 1:
            return self.guarded(typed, na, self.call("mul_int", a, str(factor)))
        if pair == ("integer", "double"):
            return self.guarded(typed, na, f"float({a})")
        if pair == ("integer", "integer"):
            return self.guarded(typed, na, self._fitted(a, typed.dtype))
        if pair == ("date", "timestamp"):
            return self.guarded(typed, na, self.call("mul_int", a, str(_DAY_US)))
        if pair == ("double", "integer"):
            return self.guarded(typed, na, self.call("truncate", a, *map(str, integer_range(typed.dtype))))
        if pair == ("decimal", "double") and as_decimal(arg.dtype).precision <= 15:
            # Both numbers are exact doubles, so the quotient is rounded once.
            return self.guarded(typed, na, f"{a} / {10 ** as_decimal(arg.dtype).scale}.0")
        if pair == ("boolean", "integer"):
            return self.guarded(typed, na, f"1 if {a} else 0")
        raise self._unsupported(typed)

    def _call(self, typed: Typed) -> tuple[str, str]:
        name = typed.value.name
        written = [self.write(arg) for arg in typed.args]
        values, nulls = [a for a, _ in written], [na for _, na in written]
        if name == "ISNAN":
            return self.guarded(typed, "False", f"not {nulls[0]} and {values[0]} != {values[0]}")
        if name not in _CALLS:
            raise self._unsupported(typed)
        if name in _POSITIVE_ONLY:
            nulls.append(f"{values[0]} <= 0")
        if name in ("SIGN", "POWER"):
            self.called.add(name.lower())
        return self.guarded(typed, " or ".join(nulls), _CALLS[name].format(*values))


def _is_number(typed: Typed) -> bool:
    """Whether it is a literal that is a number in the code, and one that equals itself."""
    known = typed.op == "literal" and typed.value is not None and typed.dtype != pa.bool_()
    return bool(known and typed.value == typed.value)


def _truth(dtype: pa.DataType | None) -> str:
    return " != 0" if dtype == pa.bool_() else ""


def _zero(dtype: pa.DataType | None) -> str:
    name = "other" if dtype is None else kind(dtype)
    return {"boolean": "False", "float": "0.0", "double": "0.0"}.get(name, "0")


def _scaled_by(typed: Typed) -> int:
    """The factor of a cast that only adds decimal places; 0 when it is none."""
    if typed.op != "cast" or kind(typed.dtype) != "decimal":
        return 0
    source = typed.args[0].dtype
    if kind(source) not in ("integer", "decimal"):
        return 0
    scale = as_decimal(source).scale
    target_scale = as_decimal(typed.dtype).scale
    return int(10 ** (target_scale - scale)) if scale <= target_scale else 0
