"""Mutants of `eventide stream`: what its view adds up, what it tries again, and how addresses are read."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = ("tests/test_live_view.py",)
ADDRESSES = "engines/addresses.py"
RESTARTS = "engines/spark/restarts.py"
VIEW = "live_view.py"

LIVE_VIEW = (
    Mutant("live view: a progress counts as often as it is seen", VIEW, "if key in self._seen:", "if False:", TESTS),
    Mutant(
        "live view: waiting is a batch",
        VIEW,
        "if self.tally.n_batches > n_before:",
        "if True:",
        TESTS,
    ),
    Mutant("live view: bad records are events", VIEW, "name.startswith(SOURCE)]", 'name == "no such"]', TESTS),
    Mutant(
        "live view: the newest event is that of the last batch",
        VIEW,
        "time if self.newest is None else max(self.newest, time)",
        "time",
        TESTS,
    ),
    Mutant(
        "live view: rates go on when nothing comes",
        VIEW,
        "max(_IDLE_SECONDS, 3 *",
        "1e9 + max(_IDLE_SECONDS, 3 *",
        TESTS,
    ),
    Mutant("live view: a long batch is idleness", VIEW, "max(_IDLE_SECONDS, 3 *", "min(_IDLE_SECONDS, 3 *", TESTS),
    Mutant(
        "live view: old rows come first", VIEW, "self.last_rows.extendleft(reversed(", "self.last_rows.extend((", TESTS
    ),
    Mutant("live view: names in rows are markup", VIEW, "Text(show(row.get(name)))", "show(row.get(name))", TESTS),
    Mutant(
        "restarts: a user's mistake is tried again",
        RESTARTS,
        "isinstance(error, EventideError) or user_message(error) is not None",
        "False",
        TESTS,
    ),
    Mutant("restarts: pauses do not grow", RESTARTS, "min(1 << min(n_failed - 1, 10), 60)", "1", TESTS),
    Mutant(
        "restarts: pauses grow without end", RESTARTS, "min(1 << min(n_failed - 1, 10), 60)", "1 << n_failed", TESTS
    ),
    Mutant(
        "addresses: hidden files tell the format", ADDRESSES, 'if not name.startswith((".", "_")):', "if True:", TESTS
    ),
    Mutant("addresses: a packed file has no format", ADDRESSES, "if path.suffix.lower() in _PACKED", "if False", TESTS),
    Mutant(
        "addresses: rows go to Kafka without a checkpoint",
        ADDRESSES,
        "isinstance(sink, Terminal):\n        return given",
        "True:\n        return given",
        TESTS,
    ),
)
