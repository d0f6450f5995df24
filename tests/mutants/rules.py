"""Faults in rule sets: what changes at a border, what one rule does to another, what is kept."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, tests_of

BUCKET, RANDOM, FILES, PLANNING = tests_of(
    "rules",
    "bucket",
    "random_changes",
    "files",
    "planning",
)

RULES = (
    Mutant(
        "rules: a replaced rule keeps the state of the one before",
        "RuleBucket._replace",
        "if rule.same_as(plan_rule(json.loads(saved[0]), self._shared)):",
        "if rule is not None:",
        BUCKET,
    ),
    Mutant(
        "rules: a rule in other words begins anew",
        "RuleBucket._replace",
        "if before is not None and not before.off:",
        "if before is not None and before.off:",
        RANDOM,
    ),
    Mutant(
        "rules: a removed rule leaves its segments",
        "RuleBucket._forget",
        "for number in entry.segments if entry is not None else ():",
        "for number in ():",
        RANDOM,
    ),
    Mutant(
        "rules: a quiet bucket does not wake for what a rule waits for",
        "RuleBucket._is_due",
        "return pending_us is not None and pending_us <= next_us",
        "return False",
        BUCKET,
    ),
    Mutant(
        "rules: segments of all rules lie under one name",
        "RuleBucket._key",
        "return name, number",
        'return "", number',
        RANDOM,
    ),
    Mutant(
        "rules: a rule is kept under the text of the one before it",
        "RuleBucket._plan",
        "self._text, self._operator = self._kept(name)",
        "self._operator = self._kept(name)[1]\nself._text = self._text or self._kept(name)[0]",
        RANDOM,
    ),
    Mutant(
        "rules: every bucket reports a text that does not parse",
        "RuleBucket._refuse",
        "self._label == FIRST and not is_slow",
        "not is_slow",
        BUCKET,
    ),
    Mutant(
        "rules: what failed is told once, though a crash may swallow it",
        "RuleBucket._change",
        "if isinstance(entry.off, str):",
        "if False:",
        BUCKET,
    ),
    Mutant(
        "rules: a rule that failed elsewhere goes on",
        "RuleBucket._replace",
        'if written.get("failed") is not None:',
        'if written.get("failed") is None and False:',
        BUCKET,
    ),
    Mutant(
        "rules: a bucket tells of a failure that all know",
        "RuleBucket._switch_off",
        "self._entries[name] = Entry(off=True)",
        "self._entries[name] = Entry(off=problem)",
        BUCKET,
    ),
    Mutant(
        "rules: a rule that is written anew stays switched off",
        "make_marker.mark_failed",
        "if problems and not is_same(before[name], written):",
        "if problems and name not in rules:",
        FILES,
    ),
    Mutant(
        "rules: a failure of an earlier text switches the new one off",
        "make_marker.mark_failed",
        'failure["rule"] == name and is_same(failure, written)',
        'failure["rule"] == name',
        FILES,
    ),
    Mutant(
        "rules: a problem is not counted",
        "RuleBucket._switch_off",
        "Counters(self._label, problems=1, rule=name)",
        "Counters(self._label, problems=0, rule=name)",
        ("tests/metrics/test_rules.py",),
    ),
    Mutant(
        "rules: the timer is that of the last rule that waits",
        "Bucket._set_timer",
        "-(-min(pending) // 1000) if pending else None",
        "-(-max(pending) // 1000) if pending else None",
        BUCKET,
    ),
    Mutant(
        "rules: a rule that has failed is tried again",
        "RuleBucket._results",
        "if self._entries[name].off or (events is None and not self._is_due(name, next_us)):",
        "if events is None and not self._is_due(name, next_us):",
        BUCKET,
    ),
    Mutant(
        "rules: another number of buckets is not seen",
        "RuleBucket._load",
        "if value != now[name]:",
        'if value != now[name] and name != "n_buckets":',
        BUCKET,
    ),
    Mutant(
        "rules: a batch's own newest event decides too early",
        "Bucket._next_watermark_us",
        "(newest_us // 1000 - delay_ms) * 1000",
        "newest_us // 1000 * 1000",
        RANDOM,
    ),
    Mutant(
        "rules: a file that is being written ends its rule",
        "make_reader.read_rules",
        "elif name in before:",
        "elif name in found:",
        FILES,
    ),
    Mutant(
        "rules: a run with an end follows the folder",
        "make_source.Reader.latestOffset",
        "self.target = found if self.ends else None",
        "self.target = None",
        FILES,
    ),
    Mutant(
        "rules: a rule may need partitions that are kept apart",
        "_check",
        "missing = [name for name in shared.partition_by if name not in kept]",
        "missing = [name for name in shared.partition_by if name not in names.values()]",
        PLANNING,
    ),
    Mutant(
        "rules: other columns are the same rule",
        "Rule.same_as",
        "return mine == others and self.columns == other.columns",
        "return mine == others",
        PLANNING,
    ),
)
