"""DEFINE as source text for the row matcher: `holds` and `fold` over the match so far, `near` over close rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eventide.expressions.folds import COUNTS, Fold, Store
from eventide.expressions.navigation.leaves import Slot, ValueLeaf
from eventide.expressions.relate import Related, Relation, Relations
from eventide.expressions.residue import HEADER, choose, library
from eventide.expressions.typed import Typed
from eventide.expressions.write_code import DECORATOR, Encoded, TestWriter
from eventide.runtime.encode import Encoding

_NEAR_ARGUMENTS = "row, span, cols"
_IMPORTS = """from eventide.families.rows.kernel_labels import find_first, find_last
from eventide.families.rows.kernel_types import FOLD, HOLDS


"""
_ARGUMENTS = "row, span, labels, first, last, before, folds, cols"
_STORE = Store(("folds[0]", "folds[1]", "folds[2]"))


@dataclass(frozen=True, slots=True)
class Code:
    """Source text for the matcher, and what it reads; `nears` numbers the labels that `near` knows."""

    tests: str | None = None  # a module with `holds` and `fold`
    near: str | None = None
    nears: Mapping[int, int] = field(default_factory=dict)
    encodings: tuple[Encoding, ...] = ()
    n_folds: tuple[int, int, int] = (0, 0, 0)  # rows of integers, of doubles, of counts


def is_near(condition: Relation) -> bool:
    """Whether a condition looks at its row and those a fixed distance away, whatever match they are in."""
    leaves = condition.resolved.leaves
    return all(isinstance(leaf, ValueLeaf) and not leaf.slot.depends_on_start for leaf in leaves)


def write_conditions(relations: Relations, columns: Sequence[str], n_labels: int) -> Code:
    """The code; value i is read from the block's column `columns[i]`."""
    encoded = relations.encoded(columns)
    texts: dict[bool, list[str]] = {True: [], False: []}  # by whether they look at neighbours only
    calls: dict[bool, dict[int, list[str]]] = {True: {}, False: {}}  # with their labels
    for k, test in enumerate(relations.tests):
        near = is_near(test.relation)
        arguments = _NEAR_ARGUMENTS if near else _ARGUMENTS
        texts[near].append(_RowWriter(encoded, test, n_labels).function(f"test_{k}", test.tree, arguments))
        calls[near].setdefault(test.relation.number, []).append(f"test_{k}({arguments})")
    functions, folds = library(encoded.called), relations.folds
    tests = near_text = None
    if calls[False] or folds.made:
        holds = choose("holds", "label", _ARGUMENTS, calls[False], "@njit(HOLDS, cache=True, nogil=True)\n")
        fold = _fold_source(folds.made, encoded)
        tests = HEADER + _IMPORTS + "\n\n".join([*functions, *texts[False], holds, fold])
    if calls[True]:
        numbered = dict(enumerate(calls[True].values()))
        near_holds = choose("near", "which", _NEAR_ARGUMENTS, numbered, DECORATOR)
        near_text = "\n\n".join([*functions, *texts[True], near_holds])
    nears = {label: i for i, label in enumerate(calls[True])}
    n_integers, n_doubles, n_counts, _ = folds.sizes
    return Code(tests, near_text, nears, encoded.encodings, (n_integers, n_doubles, n_counts))


def _fold_source(folds: Sequence[Fold], encoded: Encoded) -> str:
    lines = ["@njit(FOLD, cache=True, nogil=True)\ndef fold(depth, row, label, span, folds, cols):"]
    for fold in folds:
        made = _STORE.fold_lines(fold, encoded.read, "depth - 1", "depth > 0", "label")
        lines += [f"    {line}" for line in [*made, *_STORE.keep_lines(fold, "depth")]]
    return "\n".join([*lines, "    return 0"]) + "\n"


class _RowWriter(TestWriter):
    """Finds rows by their labels in the match so far."""

    may_miss = True

    def __init__(self, encoded: Encoded, test: Related, n_labels: int) -> None:
        super().__init__(encoded, test.relation.source)
        self._slots = test.slots
        self._n_labels = n_labels

    def begin(self) -> None:
        for i, slot in enumerate(self._slots):
            self._find(f"row_{i}", slot)

    def _find(self, at: str, slot: Slot) -> None:
        """Lines that set a variable to the slot's row."""
        if slot.members is None:
            self.line(f"{at} = span[2] + {slot.offset}" if slot.from_first else f"{at} = row - {slot.offset}")
            if slot.offset:
                self.line(f"if {at} < span[2] or {at} > row:")
                self.line(f"    {at} = -1")
        else:
            if len(slot.members) == 1 and slot.offset == 0:
                self.line(f"{at} = {'first' if slot.from_first else 'last'}[{slot.members[0]}]")
            else:
                members = ", ".join(str(int(m in slot.members)) for m in range(self._n_labels))
                find = "find_first" if slot.from_first else "find_last"
                self.line(f"{at} = {find}(labels, row - span[2], np.array([{members}], dtype=np.int32), {slot.offset})")
            self.line(f"if {at} >= 0:")
            self.line(f"    {at} += span[2]")
        if slot.shift:
            self.line(f"if {at} >= 0:")
            self.line(f"    {at} += {slot.shift}")
            self.line(f"    if {at} < span[0] or {at} >= span[1]:")
            self.line(f"        {at} = -1")

    def _fold(self, typed: Typed) -> tuple[str, str]:
        fold: Fold = typed.value
        n_values = _STORE.cell(COUNTS, fold.number, "row - span[2]")
        return self.kept(typed, _STORE.cell(fold.array, fold.place, "row - span[2]"), n_values)

    def _label(self, typed: Typed) -> tuple[str, str]:
        inside = f"span[2] <= {self.row(typed.value)} <= row"
        x, n = self.variables()
        self.line(f"{n} = not ({inside})")
        self.line(f"{x} = labels[{self.row(typed.value)} - span[2]] if {inside} else 0")
        return x, n

    def _number(self, typed: Typed) -> tuple[str, str]:
        return "span[3]", "False"
