"""What `explain` says of a builder pattern: the automaton, warnings, the operator, and where it runs."""

from __future__ import annotations

from eventide.families.builder.automaton import compile_pattern
from eventide.families.builder.growth import warnings_of
from eventide.families.builder.syntax import EventPattern
from eventide.families.builder.write import write_pattern
from eventide.plan.explain import explain_plainly
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.runtime.effort import steps_text
from eventide.runtime.limit import limit_text


def automaton_lines(pattern: EventPattern, max_matches: int | None = None, max_steps: int | None = None) -> list[str]:
    """What a partial match may do with an event in each of its states; then warnings and limits."""
    program = compile_pattern(pattern)
    warnings = [f"warning  {text}" for text in warnings_of(pattern, program)]
    limits = [f"limit    {text}" for text in (limit_text(max_matches), steps_text(max_steps))] if warnings else []
    return [*program.dump().splitlines(), *warnings, *limits]


def explain_pattern(
    pattern: EventPattern,
    physical: Physical | None,
    engine: str,
    n_rows: int | None,
    options: Options,
) -> str:
    """The sections of every `explain`."""
    text = explain_plainly(write_pattern(pattern), physical, engine, n_rows)
    limits = options.max_matches_per_partition, options.max_steps_per_partition
    program = "\n".join(f"  {line}" for line in automaton_lines(pattern, *limits))
    head, behind, rest = text.partition("\nPlan\n" if physical is None else "\nOperator\n")
    return f"{head}\nProgram\n{program}{behind}{rest}"
