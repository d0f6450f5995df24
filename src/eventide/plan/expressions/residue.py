"""Code for tests: a `Test` over event values becomes a Numba function with SQL's three-valued logic.

Goes in: a `Split`. Comes out: a `Residue`: how each value is encoded, and source text of `test_0`, `test_1`, ..., where
`test_k(row_0, row_1, ..., cols)` takes the row of each slot in order and `cols` as `operators.encode` makes it, and
returns whether the test holds; NULL does not hold. The text needs the names `np` and `njit`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from eventide.operators.encode import Encoding, literal_code
from eventide.plan.expressions import residue_functions
from eventide.plan.expressions.code_spaces import CodeSpaces
from eventide.plan.expressions.split import Split, Test
from eventide.plan.expressions.typed import Source, Typed
from eventide.plan.expressions.types import integer_range, kind, type_name

HEADER = "import numpy as np\nfrom numba import njit\n\n\n"
_DECORATOR = "@njit(cache=True, nogil=True)\n"
_DAY_US = 86_400_000_000
_ONE_EVENT_HINT = "relate the events by comparisons and arithmetic of what is computed from each alone"


@dataclass(frozen=True, slots=True)
class Residue:
    """Everything the matcher needs: `source` defines `names[k]` for test k over `encodings`."""

    encodings: tuple[Encoding, ...]
    names: tuple[str, ...]
    source: str


def write_tests(split: Split, column: Callable[[int], str] = "v{}".format) -> Residue:
    """The code of all tests; value i is read from the table column `column(i)`.

    >>> from eventide.lang.scalars import parse_scalar
    >>> from eventide.plan.expressions.split import split
    >>> text = "A.price < B.price"
    >>> done = split([parse_scalar(text)], ["A", "B"], pa.schema([("price", pa.float64())]), text)
    >>> residue = write_tests(done)
    >>> residue.encodings
    (Encoding(column='v0', kind='double', space=-1, ordered=False, scale=0, literals=()),)
    >>> residue.names
    ('test_0',)
    """
    spaces = CodeSpaces([test.tree for test in split.tests])
    used = {leaf.value[1] for test in split.tests for leaf in test.tree.walk() if leaf.op == "value"}
    encodings = []
    for i, value in enumerate(split.values):
        if i in used:
            encodings.append(_encoding(column(i), value.dtype, value.typed, spaces, i, value.source))
    places = {i: place for place, i in enumerate(sorted(used))}
    called: set[str] = set()
    texts = []
    for k, test in enumerate(split.tests):
        writer = _TestWriter(spaces, places, split.source, called)
        texts.append(writer.function(f"test_{k}", test))
    parts = [text for name, text in _functions().items() if name in called]
    names = tuple(f"test_{k}" for k in range(len(split.tests)))
    return Residue(tuple(encodings), names, "\n\n".join([*parts, *texts]))


def _encoding(
    column: str, dtype: pa.DataType | None, typed: Typed, spaces: CodeSpaces, i: int, source: Source
) -> Encoding:
    name = "other" if dtype is None else kind(dtype)
    if name == "string":
        space = spaces.of_value(i)
        return Encoding(column, "string", space.number, space.ordered, 0, space.literals)
    if name == "decimal" and dtype.precision > 18:
        hint = "cast it to a decimal of at most 18 digits, or to DOUBLE"
        raise source.error(f"{type_name(dtype)} is too wide to relate events by", typed.span, hint)
    if name in ("other", "months"):
        raise source.error(
            f"events cannot be related by a value of type {dtype}", typed.span, _ONE_EVENT_HINT
        )
    kinds = {"float": "double", "null": "integer"}
    return Encoding(column, kinds.get(name, name), scale=dtype.scale if name == "decimal" else 0)


@cache
def _functions() -> dict[str, str]:
    """The source of each function that generated code may call, by name."""
    source = inspect.getsource(residue_functions)
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for arg in node.args.args:
                arg.annotation = None
            found[node.name] = ast.unparse(node) + "\n"
    return found


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
    "CBRT": "np.cbrt({0})",
    "SIGN": "sign({0})",
    "POWER": "power({0}, {1})",
    "ATAN2": "np.arctan2({0} + 0.0, {1} + 0.0)",
    "DATEDIFF": "{0} - {1}",
}
_POSITIVE_ONLY = ("LN", "LOG2", "LOG10")


class _TestWriter:
    """Writes one function; every expression gets a variable for its value and one for being NULL."""

    def __init__(self, spaces: CodeSpaces, places: dict[int, int], source: Source, called: set[str]) -> None:
        self.spaces = spaces
        self.places = places
        self.source = source
        self.called = called
        self.lines: list[str] = []
        self.depth = 1
        self.n_variables = 0

    def function(self, name: str, test: Test) -> str:
        rows = "".join(f"row_{i}, " for i in range(len(test.slots)))
        value, null = self.write(test.tree)
        self.line(f"return {value} and not {null}")
        return f"{_DECORATOR}def {name}({rows}cols):\n" + "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def variables(self) -> tuple[str, str]:
        self.n_variables += 1
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
        return self.source.error(f"events cannot be related by {shown}", typed.span, _ONE_EVENT_HINT)

    # --- leaves ---------------------------------------------------------------------------------------------

    def _value(self, typed: Typed) -> tuple[str, str]:
        slot, i = typed.value
        place = 2 * self.places[i]
        x, n = self.variables()
        self.line(f"{x} = cols[{place}][row_{slot}]")
        self.line(f"{n} = not cols[{place + 1}][row_{slot}]")
        return x, n

    def _literal(self, typed: Typed) -> tuple[str, str]:
        if typed.value is None:
            return _zero(typed.dtype), "True"
        if typed.dtype == pa.string():
            space = self.spaces.of_literal(typed)
            return str(literal_code(typed.value, space.literals, space.ordered)), "False"
        if kind(typed.dtype) == "decimal":
            scaled = int(typed.value.scaleb(typed.dtype.scale))
            if abs(scaled) >= 1 << 63:
                raise self._unsupported(typed)
            return f"({scaled})", "False"
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
            if factor > 1 and kind(inner.dtype) == "decimal" and inner.dtype.precision <= 18:
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
        tests = [f"(not {nb} and ({self._compare('eq', a, b, dtype)}))" for b, nb in items]
        self.line(f"{x} = not {na} and ({' or '.join(tests)})")
        self.line(f"{n} = {na} or (not {x} and ({' or '.join(nb for _, nb in items)}))")
        return x, n

    # --- choices --------------------------------------------------------------------------------------------

    def _case(self, typed: Typed) -> tuple[str, str]:
        x, n = self.variables()
        self.line(f"{x} = {_zero(typed.dtype)}")
        self.line(f"{n} = True")
        depth = self.depth
        for i in range(0, len(typed.args) - 1, 2):
            test, no_test = self.write(typed.args[i])
            self.line(f"if {test} and not {no_test}:")
            self.depth += 1
            self._assign(x, n, typed.args[i + 1])
            self.depth -= 1
            self.line("else:")
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
        depth = self.depth
        self._assign(x, n, typed.args[0])
        for arg in typed.args[1:]:
            self.line(f"if {n}:")
            self.depth += 1
            self._assign(x, n, arg)
        self.depth = depth
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


def _zero(dtype: pa.DataType | None) -> str:
    name = "other" if dtype is None else kind(dtype)
    return {"boolean": "False", "float": "0.0", "double": "0.0"}.get(name, "0")


def _scaled_by(typed: Typed) -> int:
    """The factor of a cast that only adds decimal places; 0 when it is none."""
    if typed.op != "cast" or kind(typed.dtype) != "decimal":
        return 0
    source = typed.args[0].dtype
    scale = {"integer": 0, "decimal": source.scale if kind(source) == "decimal" else 0}.get(kind(source))
    if scale is None or scale > typed.dtype.scale:
        return 0
    return int(10 ** (typed.dtype.scale - scale))
