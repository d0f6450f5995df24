"""What every `explain` shares: its sections, and those of a family that says no more."""

from __future__ import annotations

from eventide.families.registry import family_of
from eventide.plan.physical import Physical

NO_COLUMNS = "needs the events' columns: pass the events to explain"


def explain_plainly(query: str, physical: Physical | None, engine: str, n_rows: int | None) -> str:
    """The sections of a query whose family says no more: what is asked, what runs, and where."""
    sections = [section("Query", query.splitlines())]
    if physical is None:
        return "\n".join([*sections, section("Plan", [NO_COLUMNS])])
    names = dict(physical.intake.names)
    keys = ", ".join(names.get(name, name) for name in physical.intake.layout.distribution)
    per_event = f"per event   {len(physical.select)} columns from {len(physical.reads)}, computed by the SQL engine"
    sections.append(section("Operator", [physical.spec.family, per_event]))
    seen = "" if n_rows is None else f" ({n_rows:,} events)"
    one = {"local": "one thread", "spark": "one task"}.get(engine, "one bucket")
    how = f"partitions by {keys} are shared out" if keys else f"{one}, because there is no partition column"
    sections.append(distributed(f"{engine}{seen}: {how}", physical, engine))
    return "\n".join(sections)


def section(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


def distributed(line: str, physical: Physical, engine: str) -> str:
    is_refused = line.startswith("spark stream: refused")
    skew = hot_key_lines(physical) if engine == "spark stream" and not is_refused else []
    return section("Distribution", [line, *skew])


def hot_key_lines(physical: Physical) -> list[str]:
    """What a stream does with a key that has far more events than others; nothing where all events belong together."""
    if not physical.intake.layout.distribution:
        return []
    kept = family_of(physical.spec).kept_of_hot_key(physical.spec)
    return [
        "hot key: all tasks read and filter its events, then one task works on them while those of other buckets go "
        f"on; {kept}; ev.metrics has the largest bucket's share"
    ]
