"""`Pairs`: queries over two inputs, which are given by name."""

from __future__ import annotations

import os
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

import pyarrow as pa

from eventide.api.query import Inputs, Query
from eventide.engines.local.pairs import open_inputs
from eventide.engines.local.sources import Source, is_local, open_source
from eventide.errors import EventideError, InputError
from eventide.families.intervals.lower import about
from eventide.lang.durations import parse_time
from eventide.plan.arguments import not_for_spark, session_for_path, wrong_argument
from eventide.plan.physical import Physical


class Pairs(Query):
    """A query over two inputs; its tables are called left and right."""

    what: ClassVar[str] = "tables of intervals"
    usage: ClassVar[str] = "left=hot, right=smoke"

    @property
    def _names(self) -> tuple[str, str]:
        """The names under which the left and the right input are given."""
        return "left", "right"

    def _check_inputs(self, method: str, events: Any, inputs: Inputs) -> None:
        names = self._names
        if events is not None or set(inputs) != set(names):
            other = next((name for name in inputs if name not in names), None)
            message = f"{method} has no option '{other}'" if other else f"{method} takes two {self.what}"
            raise InputError(message, hint=f"q.{method}({self.usage})")
        frames = {name: not is_local(inputs[name]) for name in names}
        if any(frames.values()) and not all(frames.values()):
            which, other = names if frames[names[0]] else names[::-1]
            if not isinstance(inputs[other], str | os.PathLike):
                hint = f"pass {which}.toArrow(), or {other} as a DataFrame"
                raise InputError(f"{which} is a Spark DataFrame and {other} is not", hint=hint)

    def _both(self, inputs: Inputs) -> tuple[Any, Any]:
        left, right = self._names
        return inputs[left], inputs[right]

    def _pair(self, one: pa.Schema, other: pa.Schema, engine: str = "local", *, on_stream: bool = False) -> Physical:
        return self._plan(self.options, (one, other), engine, on_stream=on_stream)

    def _schemas(self, inputs: Inputs, on_spark: bool, spark: Any) -> tuple[tuple[pa.Schema, ...], str]:
        if not on_spark:
            return tuple(open_source(side).schema for side in self._both(inputs)), "local"
        from eventide.engines.spark.types import input_schema

        frames = self._frames(inputs, spark)
        return tuple(map(input_schema, frames)), "spark stream" if frames[0].isStreaming else "spark"

    def explain(self, events: Any = None, *, engine: str | None = None, spark: Any = None, **inputs: Any) -> str:
        if events is None and not inputs:
            return super().explain(engine=engine)
        events, inputs, on_spark = self._where("explain", events, inputs, engine)
        return self._explained(self.options, *self._schemas(inputs, on_spark, spark))

    def _opened(self, events: Any, inputs: Inputs) -> tuple[Source, Physical]:
        return open_inputs(dict(zip(("left", "right"), self._both(inputs), strict=True)), self._pair)

    def _shown(self, table: pa.Table, source: Source) -> pa.Table:
        return self._noting_dropped(table) if self.options.on_bad_event == "drop" else table

    def _frames(self, inputs: Inputs, spark: Any) -> list[Any]:
        from eventide.engines.spark.run import read_frame

        frames = []
        for side in self._both(inputs):
            if isinstance(side, str | os.PathLike):
                frames.append(read_frame(os.fspath(side), session_for_path(spark)))
            elif is_local(side):
                raise not_for_spark(side)
            else:
                frames.append(side)
        return frames

    def _run_on_spark(self, events: Any, inputs: Inputs, spark: Any) -> Any:
        from eventide.engines.spark.pairs import relate_frames

        left, right = self._frames(inputs, spark)
        return relate_frames(left, right, partial(self._pair, engine="spark", on_stream=left.isStreaming))

    def _late_on_spark(self, events: Any, inputs: Inputs) -> Any:
        from eventide.engines.spark.pairs import late_frames

        left, right = self._frames(inputs, None)
        return late_frames(left, right, partial(self._pair, engine="spark", on_stream=True))


def window_us(argument: str, given: object, usage: str) -> int:
    """A length of time in microseconds."""
    if isinstance(given, timedelta):
        if given <= timedelta(0):
            raise EventideError(f"{argument} must be more than zero", hint=f"write {usage}")
        return given // timedelta(microseconds=1)
    if not isinstance(given, str):
        raise wrong_argument(argument, "text or a timedelta", given, usage)
    with about(argument):
        return parse_time(given)
