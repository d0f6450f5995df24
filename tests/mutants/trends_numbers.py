"""Mutants of the numbers of trends: overflow, sums, scales, extremes, groups."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RULES = "tests/families/trends/test_rules.py::test_"
_NUMBERS = "tests/families/trends/test_numbers.py::test_"
_ARITHMETIC = "tests/families/trends/test_arithmetic.py::test_"
_WINDOWS = "tests/families/trends/test_windows.py::test_"
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


TRENDS_NUMBERS = (
    # Overflow
    Mutant(
        "trends: a sum loses its carry",
        "add",
        "if low < b[j, 0]:\n    high += _ONE",
        "",
        ADD,
    ),
    Mutant(
        "trends: a sum past the range is a number again",
        "add",
        "low, high = _ZERO, BEYOND",
        "low = _ZERO",
        STAYS,
    ),
    Mutant(
        "trends: a product past two words is a number",
        "_times",
        "return first, total, high >= BEYOND or over != _ZERO or total < second",
        "return first, total, high >= BEYOND or total < second",
        MULTIPLY,
    ),
    Mutant(
        "trends: a product whose carry is past two words is a number",
        "_times",
        "return first, total, high >= BEYOND or over != _ZERO or total < second",
        "return first, total, high >= BEYOND or over != _ZERO",
        MULTIPLY,
    ),
    Mutant(
        "trends: a product of two high words is nothing",
        "add_product",
        "_add_words(a, i, _ZERO, _ZERO, True)",
        "_add_words(a, i, _ZERO, _ZERO, False)",
        MULTIPLY,
    ),
    Mutant(
        "trends: a number of 39 digits is a count",
        "count_column",
        "beyond = (words[:, 1] > high) | ((words[:, 1] == high) & (words[:, 0] >= low))",
        "beyond = words[:, 1] >= BEYOND",
        LIMIT,
    ),
    Mutant(
        "trends: a number of 39 digits is a sum",
        "_numbers",
        "abs(total) >= LIMIT",
        "abs(total) >= 2 * LIMIT",
        LIMIT,
    ),
    Mutant(
        "trends: a number of 39 digits is the count of a group",
        "_count",
        "number >= LIMIT",
        "number >= 2 * LIMIT",
        LIMIT,
    ),
    Mutant(
        "trends: a sum loses its carry in lanes",
        "add_lanes",
        "(_ONE if low < first[source + k] else _ZERO)",
        "_ZERO",
        LANES,
    ),
    Mutant(
        "trends: a sum past the range is a number again in lanes",
        "add_lanes",
        "second[target + k] = BEYOND if is_beyond else high",
        "second[target + k] = high",
        LANES,
    ),
    Mutant(
        "trends: a number of the scale before adds nothing in lanes",
        "add_lanes",
        "(_SMALL if ahead == -1.0 else 0.0)",
        "0.0",
        LANES,
    ),
    Mutant(
        "trends: a sum of the next scale keeps the scale in lanes",
        "add_lanes",
        "second[target + k] = e + 1.0 if is_large else e",
        "second[target + k] = e",
        LANES,
    ),
    # Numbers and groups
    Mutant(
        "trends: a number of the next scale hides the one before it",
        "_sum_scaled",
        "total, e = n + m * _SMALL, f",
        "total, e = n, f",
        SCALED,
    ),
    Mutant(
        "trends: a number of the scale before adds nothing",
        "_sum_scaled",
        "total = m + n * _SMALL",
        "total = m",
        SCALED,
    ),
    Mutant(
        "trends: negative values are added",
        "_difference",
        '(number if part.part == "plus" else -number)',
        "(number)",
        SIGNS,
    ),
    Mutant(
        "trends: negative values are added beside logarithms",
        "_difference",
        "m * LARGE ** max(e - top, -2.0) - n * LARGE ** max(f - top, -2.0)",
        "m * LARGE ** max(e - top, -2.0) + n * LARGE ** max(f - top, -2.0)",
        SIGNS_OF_LOGARITHMS,
    ),
    Mutant(
        "trends: a count beyond 53 bits is rounded in a sum of doubles",
        "words_to_doubles",
        "return total, rest - (total - most)",
        "return total, 0.0",
        SMALL_PARTS,
    ),
    Mutant(
        "trends: a product of doubles is rounded",
        "add_scaled",
        "add_double(sums, k, product, error + high * factor[1] + low * factor[0])",
        "add_double(sums, k, product, high * factor[1] + low * factor[0])",
        SMALL_PARTS,
    ),
    Mutant(
        "trends: MAX is MIN",
        "event_values",
        "len(values) - 1 - codes if greatest else codes",
        "codes",
        SHARED,
    ),
    Mutant(
        "trends: the first partition of a group is the group",
        "merge.added",
        "_sum([numbers[i] for i in each.tolist()], counts)",
        "numbers[int(each[0])]",
        GROUPS,
    ),
    Mutant(
        "trends: windows of a group are added up",
        "_same_group",
        "return window * n_codes + codes",
        "return codes",
        GROUPS,
    ),
)
