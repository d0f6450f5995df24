"""Faults in the pictures of `ev.timeline`."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

PICTURE, AXIS, THIN, CALL, PAGE = tests_of(
    "show",
    "picture",
    "axis",
    "thinning",
    "timeline",
    "page",
)


def _mutant(what: str, where: str, old: str, new: str, tests: tuple[str, ...]) -> Mutant:
    return Mutant(f"timeline: {what}", where, old, new, tests)


TIMELINE = (
    _mutant("bars end where they start", "_bar", "axis.x(end)", "axis.x(start)", PICTURE),
    _mutant(
        "open bars look closed",
        "_bar",
        'f"url(#{canvas.gradient(colour)})" if end is None else colour',
        'f"url(#{canvas.gradient(colour)})" if end == 0 else colour',
        PICTURE,
    ),
    _mutant("overlapping bars share a row", "draw_lane", "row * pitch", "0 * pitch", PICTURE),
    _mutant("the thinning of events is not told", "draw_events", "if n > 1:", "if n > 1_000:", PICTURE),
    _mutant(
        "the diamond stands at the end",
        "span_of",
        "axis.x(match.detected_us)",
        "axis.x(match.end_us or 0)",
        PICTURE,
    ),
    _mutant("numbers take no room", "span_of", "width(str(number), _NUMBER_PX) + _GAP", "0.0", PICTURE),
    _mutant("open matches have a right end", "bracket", "if not is_open:", "if True:", PICTURE),
    _mutant("a row is free before its end", "rows_of", "busy[0][0] <= start", "busy[0][0] <= start + 1", THIN),
    _mutant(
        "the narrowest gaps stay",
        "join_bars",
        'np.argsort(-gaps, kind="stable")',
        'np.argsort(gaps, kind="stable")',
        THIN,
    ),
    _mutant("peaks are lost", "outline", "begin + np.nanargmax(part)", "begin + np.nanargmin(part)", THIN),
    _mutant("years are not round", "Axis._months", "-(-first // step) * step", "first", AXIS),
    _mutant("weeks begin on Thursdays", "Axis._clock", "4 * DAY_US", "0", AXIS),
    _mutant("every tick has its date", "Axis._clock", '"" if date == before else date', "date", AXIS),
    _mutant(
        "markup is not escaped",
        "escape",
        'html.escape(_FORBIDDEN.sub("\\ufffd", text))',
        'str(_FORBIDDEN.sub("\\ufffd", text))',
        PAGE,
    ),
    _mutant("control characters stay", "escape", '_FORBIDDEN.sub("\\ufffd", text)', "text", PAGE),
    _mutant(
        "all partitions are read",
        "_local_rows",
        '" AND ".join(f"{quoted(name)} IS NOT DISTINCT FROM ?" for name in wanted) or "TRUE"',
        '"TRUE" or " AND ".join(f"{quoted(name)} IS NOT DISTINCT FROM ?" for name in wanted) or "TRUE"',
        CALL,
    ),
    _mutant("a result restricts nothing", "_held", "key in rows", "True", CALL),
    _mutant("a match ends with what is known first", "_last_end", "max(known)", "min(known)", CALL),
    _mutant(
        "a match of an open situation ends",
        "_last_end",
        "len(known) == len(found)",
        "known",
        CALL,
    ),
    _mutant("epochs are shown as numbers", "_Given._finished", "chart.span_us[0] >= _CALENDAR_US", "False", CALL),
    _mutant("a partition may be left out", "_Given._check_partition", "if not missing:", "if missing:", CALL),
)
