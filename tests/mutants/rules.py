"""Faults in rule sets: what changes at a border, what one rule does to another, what is kept."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

BUCKET = ("tests/rules/test_bucket.py",)
RANDOM = ("tests/rules/test_random_changes.py",)
FILES = ("tests/rules/test_files.py",)
PLANNING = ("tests/rules/test_planning.py",)
_BUCKET = "engines/spark/rules_bucket.py"

RULES = (
    Mutant(
        "rules: a replaced rule keeps the state of the one before",
        _BUCKET,
        "if rule.same_as(plan_rule(json.loads(saved[0]), self._shared)):",
        "if rule is not None:",
        BUCKET,
    ),
    Mutant(
        "rules: a rule in other words begins anew",
        _BUCKET,
        "if before is not None and not before.off:",
        "if before is not None and before.off:",
        RANDOM,
    ),
    Mutant(
        "rules: a removed rule leaves its segments",
        _BUCKET,
        "for number in entry.segments if entry is not None else ():",
        "for number in ():",
        RANDOM,
    ),
    Mutant(
        "rules: a quiet bucket does not wake for what a rule waits for",
        _BUCKET,
        "is_due = entry.pending_us is not None and entry.pending_us <= next_us",
        "is_due = entry.pending_us is not None and events is not None",
        BUCKET,
    ),
    Mutant(
        "rules: every bucket reports a text that does not parse",
        _BUCKET,
        "says=self._label == FIRST and not is_slow)",
        "says=not is_slow)",
        BUCKET,
    ),
    Mutant(
        "rules: what failed is told once, though a crash may swallow it",
        _BUCKET,
        "        self._tell_again()\n",
        "",
        BUCKET,
    ),
    Mutant(
        "rules: a rule that failed elsewhere goes on",
        _BUCKET,
        'if written.get("failed") is not None:',
        'if written.get("failed") is None and False:',
        BUCKET,
    ),
    Mutant(
        "rules: a bucket tells of a failure that all know",
        _BUCKET,
        "self._entries[name] = Entry(off=True)",
        "self._entries[name] = Entry(off=problem)",
        BUCKET,
    ),
    Mutant(
        "rules: a rule that is written anew stays switched off",
        "engines/rule_files.py",
        "if problems and not is_same(before[name], written):",
        "if problems and name not in rules:",
        FILES,
    ),
    Mutant(
        "rules: a failure of an earlier text switches the new one off",
        "engines/rule_files.py",
        'if failure["rule"] == name and is_same(failure, written)]',
        'if failure["rule"] == name]',
        FILES,
    ),
    Mutant(
        "rules: a problem is not counted",
        _BUCKET,
        "0, problems=1, rule=name",
        "0, problems=0, rule=name",
        ("tests/metrics/test_rules.py",),
    ),
    Mutant(
        "rules: the timer is that of the last rule that waits",
        _BUCKET,
        "next_ms = -(-min(pending) // 1000) if pending else None",
        "next_ms = -(-max(pending) // 1000) if pending else None",
        BUCKET,
    ),
    Mutant(
        "rules: a rule that has failed is tried again",
        _BUCKET,
        "if entry.off or (events is None and not is_due):",
        "if events is None and not is_due:",
        BUCKET,
    ),
    Mutant(
        "rules: another number of buckets is not seen",
        _BUCKET,
        "if value != now[name]:",
        'if value != now[name] and name != "n_buckets":',
        BUCKET,
    ),
    Mutant(
        "rules: a batch's own newest event decides too early",
        _BUCKET,
        "return int((newest // 1000 - self._delay_ms) * 1000)",
        "return int((newest // 1000) * 1000)",
        RANDOM,
    ),
    Mutant(
        "rules: a file that is being written ends its rule",
        "engines/rule_files.py",
        "            elif name in before:\n",
        "            elif name in found:\n",
        FILES,
    ),
    Mutant(
        "rules: a run with an end follows the folder",
        "engines/spark/rules_source.py",
        "self.target = found if self.ends else None",
        "self.target = None",
        FILES,
    ),
    Mutant(
        "rules: a rule may need partitions that are kept apart",
        "engines/rules.py",
        "missing = [name for name in shared.partition_by if name not in kept]",
        "missing = [name for name in shared.partition_by if name not in names.values()]",
        PLANNING,
    ),
    Mutant(
        "rules: other columns are the same rule",
        "engines/rules.py",
        "return mine == others and self.columns == other.columns",
        "return mine == others",
        PLANNING,
    ),
)
