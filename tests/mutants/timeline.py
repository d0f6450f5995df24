"""Faults in the pictures of `ev.timeline`."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

PICTURE = ("tests/timeline/test_picture.py",)
AXIS = ("tests/timeline/test_axis.py",)
THIN = ("tests/timeline/test_thinning.py",)
CALL = ("tests/timeline/test_timeline.py",)
PAGE = ("tests/timeline/test_page.py",)


def _mutant(what: str, file: str, old: str, new: str, tests: tuple[str, ...]) -> Mutant:
    return Mutant(f"timeline: {what}", f"timeline/{file}", old, new, tests)


TIMELINE = (
    _mutant("bars end where they start", "lanes.py", "else axis.x(end)", "else axis.x(start)", PICTURE),
    _mutant("open bars look closed", "lanes.py", "if end is None else colour", "if end == 0 else colour", PICTURE),
    _mutant("overlapping bars share a row", "lanes.py", "y = top + row * pitch", "y = top + 0 * pitch", PICTURE),
    _mutant("the thinning of events is not told", "lanes.py", "if n > 1:", "if n > 1_000:", PICTURE),
    _mutant(
        "the diamond stands at the end",
        "matches.py",
        "else axis.x(match.detected_us)",
        "else axis.x(match.end_us or 0)",
        PICTURE,
    ),
    _mutant("numbers take no room", "matches.py", "width(str(number), _NUMBER_PX) + _GAP", "0.0", PICTURE),
    _mutant("open matches have a right end", "matches.py", "    if not is_open:", "    if True:", PICTURE),
    _mutant("a row is free before its end", "thinning.py", "busy[0][0] <= start", "busy[0][0] <= start + 1", THIN),
    _mutant("the narrowest gaps stay", "thinning.py", "np.argsort(-gaps", "np.argsort(gaps", THIN),
    _mutant("peaks are lost", "thinning.py", "begin + np.nanargmax(part)", "begin + np.nanargmin(part)", THIN),
    _mutant("years are not round", "axis.py", "np.arange(-(-first // step) * step", "np.arange(first", AXIS),
    _mutant("weeks begin on Thursdays", "axis.py", "4 * DAY_US if step", "0 if step", AXIS),
    _mutant("every tick has its date", "axis.py", '"" if date == before else date', "date", AXIS),
    _mutant("markup is not escaped", "letters.py", "html.escape(_FORBIDDEN", "str(_FORBIDDEN", PAGE),
    _mutant("control characters stay", "letters.py", '_FORBIDDEN.sub("\\ufffd", text)', "text", PAGE),
    _mutant(
        "all partitions are read", "tables.py", '" AND ".join(f"{_quoted', '"TRUE" or " AND ".join(f"{_quoted', CALL
    ),
    _mutant("a result restricts nothing", "situations.py", "return [key in rows", "return [True", CALL),
    _mutant(
        "a match ends with what is known first", "situations.py", "return max(known) if", "return min(known) if", CALL
    ),
    _mutant(
        "a match of an open situation ends",
        "situations.py",
        "if len(known) == len(found) else None",
        "if known else None",
        CALL,
    ),
    _mutant("epochs are shown as numbers", "build.py", "chart.span_us[0] >= _CALENDAR_US", "False", CALL),
    _mutant("a partition may be left out", "build.py", "if not missing:", "if missing:", CALL),
)
