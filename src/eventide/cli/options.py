"""Options that several commands have, each named once: a command takes a group of them as one argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

QueryFile = Annotated[
    Path | None, typer.Argument(help="A file with one query or SQL statement; - reads standard input.")
]
Inline = Annotated[str | None, typer.Option("-c", "--command", help="The query itself, in place of a file.")]
InputPath = Annotated[
    str, typer.Option("--input", help="Events: a file, folder or pattern (parquet, csv, json, arrow).")
]
Tables = Annotated[
    list[str] | None, typer.Option("--table", metavar="NAME=PATH", help="A table of a SQL statement and its files.")
]
Ts = Annotated[str | None, typer.Option("--ts", help="The time column.")]
TsUnit = Annotated[str | None, typer.Option("--ts-unit", help="Unit of an integer time column: s, ms or us.")]
TypeColumn = Annotated[str | None, typer.Option("--type", help="The column that holds the event type.")]
PartitionBy = Annotated[str | None, typer.Option("--partition-by", help="The partition columns, with commas between.")]
MaxSteps = Annotated[
    str | None,
    typer.Option("--max-steps-per-partition", help="The most steps of the search in one partition, or unlimited."),
]
Plan = Annotated[str | None, typer.Option("--plan", help="What runs an event pattern: auto, kernels or joins.")]
Engine = Annotated[str, typer.Option(help="local (also called embedded) or spark.")]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a query reads its events."""

    ts: Ts = None
    ts_unit: TsUnit = None
    type_column: TypeColumn = None
    partition_by: PartitionBy = None
    sequence: Annotated[str | None, typer.Option("--sequence", help="The column that orders events of one time.")] = (
        None
    )
    close_at_end: Annotated[
        bool, typer.Option("--close-at-end", help="Return what is open when the events end, as if all time were over.")
    ] = False

    def given(self) -> dict[str, Any]:
        """The options that were given; a query may say so itself, so only what is asked for here is passed on.

        >>> Reading(type_column="kind", partition_by="a, b").given()
        {'type': 'kind', 'partition_by': ['a', 'b']}
        """
        found = {name: value for name, value in vars(self).items() if value is not None and value is not False}
        if self.partition_by is not None:
            found["partition_by"] = [name.strip() for name in self.partition_by.split(",")]
        return {"type" if name == "type_column" else name: value for name, value in found.items()}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Where the rows go."""

    output: Annotated[Path | None, typer.Option("--output", help="Write the rows here (.parquet, .csv or .jsonl).")] = (
        None
    )
    explain: Annotated[bool, typer.Option("--explain", help="Print the plan before running.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON, one a line.")] = False


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command for Typer: every field of a group, a dataclass among the parameters, is an option of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        inside = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(each.name, parameter.kind, default=each.default, annotation=inside[each.name])
            for each in fields(group)
        ]

    @wraps(command)
    def ungrouped(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        command(**given)

    ungrouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ungrouped.__annotations__ = {each.name: each.annotation for each in parameters}
    return ungrouped
