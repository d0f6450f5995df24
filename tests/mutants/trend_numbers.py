"""Mutants of the numbers of trends: overflow, sums, scales, extremes, groups."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RULES = "tests/trends/test_rules.py::test_"
_NUMBERS = "tests/trends/test_numbers.py::test_"
_ARITHMETIC = "tests/trends/test_arithmetic.py::test_"
_WINDOWS = "tests/trends/test_windows.py::test_"
GROUPS = (f"{_RULES}partitions_of_a_group_add_up",)
SHARED = (f"{_WINDOWS}windows_that_share_events",)
ADD = (f"{_ARITHMETIC}exact_numbers_add_up",)
STAYS = (f"{_ARITHMETIC}exact_numbers_past_the_range_stay_there",)
MULTIPLY = (f"{_ARITHMETIC}exact_numbers_multiply", f"{_ARITHMETIC}exact_numbers_multiply_by_weights")
SCALED = (f"{_ARITHMETIC}scaled_numbers_add_up",)
LANES = (f"{_ARITHMETIC}exact_numbers_in_lanes", f"{_ARITHMETIC}scaled_numbers_in_lanes")
LIMIT = (f"{_NUMBERS}a_number_just_past_38_digits",)
SIGNS = (f"{_NUMBERS}sums_of_negative_numbers_and_decimals_are_exact",)
SIGNS_OF_LOGARITHMS = (f"{_NUMBERS}an_average_of_both_signs_beside_logarithms",)
SMALL_PARTS = (f"{_NUMBERS}sums_of_doubles_do_not_lose_small_parts",)

EXACT = "kernels/exact_numbers.py"
LOG2 = "kernels/scaled_numbers.py"
CONJUNCTIONS = "operators/trends/conjunctions.py"
OUTPUTS = "operators/trends/outputs.py"
OPERATOR = "operators/trends/operator.py"

TREND_NUMBERS = (
    # Overflow
    Mutant(
        "trends: a sum loses its carry",
        EXACT,
        "    if low < b[j, 0]:\n        high += _ONE\n",
        "",
        ADD,
    ),
    Mutant(
        "trends: a sum past the range is a number again",
        EXACT,
        "low, high = _ZERO, BEYOND",
        "low = _ZERO",
        STAYS,
    ),
    Mutant(
        "trends: a product past two words is a number",
        EXACT,
        "return first, total, high >= BEYOND or over != _ZERO or total < second",
        "return first, total, high >= BEYOND or total < second",
        MULTIPLY,
    ),
    Mutant(
        "trends: a product whose carry is past two words is a number",
        EXACT,
        "return first, total, high >= BEYOND or over != _ZERO or total < second",
        "return first, total, high >= BEYOND or over != _ZERO",
        MULTIPLY,
    ),
    Mutant(
        "trends: a product of two high words is nothing",
        EXACT,
        "_add_words(a, i, _ZERO, _ZERO, True)",
        "_add_words(a, i, _ZERO, _ZERO, False)",
        MULTIPLY,
    ),
    Mutant(
        "trends: a number of 39 digits is a count",
        OUTPUTS,
        "beyond = (words[:, 1] > high) | ((words[:, 1] == high) & (words[:, 0] >= low))",
        "beyond = words[:, 1] >= BEYOND",
        LIMIT,
    ),
    Mutant(
        "trends: a number of 39 digits is a sum",
        OUTPUTS,
        'measure.function == "SUM" and abs(total) >= LIMIT',
        'measure.function == "SUM" and abs(total) >= 2 * LIMIT',
        LIMIT,
    ),
    Mutant(
        "trends: a number of 39 digits is the count of a group",
        OUTPUTS,
        "number is not None and number >= LIMIT",
        "number is not None and number >= 2 * LIMIT",
        LIMIT,
    ),
    Mutant(
        "trends: a sum loses its carry in lanes",
        EXACT,
        "(_ONE if low < first[source + k] else _ZERO)",
        "_ZERO",
        LANES,
    ),
    Mutant(
        "trends: a sum past the range is a number again in lanes",
        EXACT,
        "second[target + k] = BEYOND if is_beyond else high",
        "second[target + k] = high",
        LANES,
    ),
    Mutant(
        "trends: a number of the scale before adds nothing in lanes",
        LOG2,
        "(_SMALL if ahead == -1.0 else 0.0)",
        "0.0",
        LANES,
    ),
    Mutant(
        "trends: a sum of the next scale keeps the scale in lanes",
        LOG2,
        "second[target + k] = e + 1.0 if is_large else e",
        "second[target + k] = e",
        LANES,
    ),
    # Numbers and groups
    Mutant(
        "trends: a number of the next scale hides the one before it",
        LOG2,
        "total, e = n + m * _SMALL, f",
        "total, e = n, f",
        SCALED,
    ),
    Mutant(
        "trends: a number of the scale before adds nothing",
        LOG2,
        "total = m + n * _SMALL",
        "total = m",
        SCALED,
    ),
    Mutant(
        "trends: negative values are added",
        OUTPUTS,
        '(number if part.part == "plus" else -number)',
        "(number)",
        SIGNS,
    ),
    Mutant(
        "trends: negative values are added beside logarithms",
        OUTPUTS,
        "max(e - top, -2.0) - n *",
        "max(e - top, -2.0) + n *",
        SIGNS_OF_LOGARITHMS,
    ),
    Mutant(
        "trends: a count beyond 53 bits is rounded in a sum of doubles",
        EXACT,
        "return total, rest - (total - most)",
        "return total, 0.0",
        SMALL_PARTS,
    ),
    Mutant(
        "trends: a product of doubles is rounded",
        "kernels/trend_records.py",
        "add_double(sums, k, product, error + high * factor[1] + low * factor[0])",
        "add_double(sums, k, product, high * factor[1] + low * factor[0])",
        SMALL_PARTS,
    ),
    Mutant(
        "trends: MAX is MIN",
        "operators/trends/inputs.py",
        "len(values) - 1 - codes if greatest else codes",
        "codes",
        SHARED,
    ),
    Mutant(
        "trends: the first partition of a group is the group",
        CONJUNCTIONS,
        "_sum([numbers[i] for i in each.tolist()], counts)",
        "numbers[int(each[0])]",
        GROUPS,
    ),
    Mutant(
        "trends: windows of a group are added up",
        OPERATOR,
        "return window * n_codes + codes",
        "return codes",
        GROUPS,
    ),
)
