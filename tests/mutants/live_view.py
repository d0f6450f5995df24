"""Mutants of `eventide stream`: what its view adds up, what it tries again, and how addresses are read."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = ("tests/test_live_view.py",)

LIVE_VIEW = (
    Mutant(
        "live view: a progress counts as often as it is seen", "View.add", "if key in self._seen:", "if False:", TESTS
    ),
    Mutant(
        "live view: waiting is a batch",
        "View.add",
        "if self.tally.n_batches > n_before:",
        "if True:",
        TESTS,
    ),
    Mutant("live view: bad records are events", "_n_events", "name.startswith(SOURCE)", 'name == "no such"', TESTS),
    Mutant(
        "live view: the newest event is that of the last batch",
        "View._add_step",
        "time if self.newest is None else max(self.newest, time)",
        "time",
        TESTS,
    ),
    Mutant(
        "live view: rates go on when nothing comes",
        "View.rates",
        "max(_IDLE_SECONDS, 3 * recent[-1].seconds)",
        "1e9 + max(_IDLE_SECONDS, 3 * recent[-1].seconds)",
        TESTS,
    ),
    Mutant(
        "live view: a long batch is idleness",
        "View.rates",
        "max(_IDLE_SECONDS, 3 * recent[-1].seconds)",
        "min(_IDLE_SECONDS, 3 * recent[-1].seconds)",
        TESTS,
    ),
    Mutant(
        "live view: old rows come first",
        "View._add_step",
        'self.last_rows.extendleft(reversed([json.loads(text) for text in written.get("last") or ()]))',
        'self.last_rows.extend(([json.loads(text) for text in written.get("last") or ()]))',
        TESTS,
    ),
    Mutant(
        "live view: names in rows are markup", "row_table", "Text(show(row.get(name)))", "show(row.get(name))", TESTS
    ),
    Mutant(
        "restarts: a user's mistake is tried again",
        "is_passing",
        "isinstance(error, EventideError) or user_message(error) is not None",
        "False",
        TESTS,
    ),
    Mutant("restarts: pauses do not grow", "pause_seconds", "min(1 << min(n_failed - 1, 10), 60)", "1", TESTS),
    Mutant(
        "restarts: pauses grow without end",
        "pause_seconds",
        "min(1 << min(n_failed - 1, 10), 60)",
        "1 << n_failed",
        TESTS,
    ),
    Mutant(
        "addresses: hidden files tell the format",
        "_format_inside",
        'if not name.startswith((".", "_")):',
        "if True:",
        TESTS,
    ),
    Mutant("addresses: a packed file has no format", "_format_of", "path.suffix.lower() in _PACKED", "False", TESTS),
    Mutant(
        "addresses: rows go to Kafka without a checkpoint",
        "checkpoint_of",
        "isinstance(sink, Terminal)",
        "True",
        TESTS,
    ),
)
