"""Random windows: a clause of the language, and the windows of a group by the oracle."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.oracle import windows as oracle

Cut = Callable[[list[oracle.Event]], list[oracle.Window]]
SECONDS = st.integers(1, 6)


def _hopping(size: int, slide: int, empty: bool) -> tuple[str, Cut]:
    text = f"WITHIN {size} seconds SLIDE {slide} seconds" + empty * " EMIT EMPTY"
    return text, lambda events: oracle.hopping(events, size, slide, empty=empty)


def _growing(steps: int, step: int, empty: bool) -> tuple[str, Cut]:
    text = f"WITHIN UP TO {steps * step} seconds STEP {step} seconds" + empty * " EMIT EMPTY"
    return text, lambda events: oracle.cumulating(events, steps * step, step, empty=empty)


def _time(empty: bool) -> st.SearchStrategy[tuple[str, Cut]]:
    either = st.just(empty)
    return st.builds(_hopping, SECONDS, SECONDS, either) | st.builds(
        _growing, st.integers(1, 4), st.integers(1, 3), either
    )


def _session(gap: int) -> tuple[str, Cut]:
    return f"SESSION {gap} seconds", lambda events: oracle.sessions(events, gap)


EMPTY = _time(True)
CLOSING = _time(False) | st.builds(_session, SECONDS)
EVERYTHING: tuple[str, Cut] = "", lambda events: [(0, 0, events)]
EVENTS = {
    "ts": range(12),
    "g": ["a", "b", None],
    "x": [1, 2, None, 2, 5, -3],
    "y": [0, 1, None],
    "s": ["p", "q", None, "pq"],
    "f": [True, False, None],
}
