"""Complex event queries on Apache Spark, from Python: one query, embedded, batch and streaming.

`import eventide` loads next to nothing: a name is loaded, with all it needs, when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventide.api import intervals, kafka, metrics
    from eventide.api.aggregate import aggregate
    from eventide.api.allen import allen, to_instants
    from eventide.api.detect import Detection, detect
    from eventide.api.events import query
    from eventide.api.joins import join
    from eventide.api.match_recognize import match_recognize
    from eventide.api.pattern import Pattern
    from eventide.api.query import Query
    from eventide.api.rules import RuleSet
    from eventide.api.sql import explain_sql, sql
    from eventide.api.streams import stream_metrics, write_stream
    from eventide.errors import EventideError, EventideWarning, InputError, QueryError, UnsupportedError
    from eventide.generate import generate, sample
    from eventide.show.timeline import timeline

__all__ = [
    "Detection",
    "EventideError",
    "EventideWarning",
    "InputError",
    "Pattern",
    "Query",
    "QueryError",
    "RuleSet",
    "UnsupportedError",
    "aggregate",
    "allen",
    "detect",
    "explain_sql",
    "generate",
    "intervals",
    "join",
    "kafka",
    "match_recognize",
    "metrics",
    "query",
    "sample",
    "sql",
    "stream_metrics",
    "timeline",
    "to_instants",
    "write_stream",
]
__version__ = "0.1.0"

_NAMES = {
    "api.aggregate": ("aggregate",),
    "api.allen": ("allen", "to_instants"),
    "api.detect": ("Detection", "detect"),
    "api.events": ("query",),
    "api.joins": ("join",),
    "api.match_recognize": ("match_recognize",),
    "api.pattern": ("Pattern",),
    "api.query": ("Query",),
    "api.rules": ("RuleSet",),
    "api.sql": ("explain_sql", "sql"),
    "api.streams": ("stream_metrics", "write_stream"),
    "errors": ("EventideError", "EventideWarning", "InputError", "QueryError", "UnsupportedError"),
    "generate": ("generate", "sample"),
    "show.timeline": ("timeline",),
}
_MODULES = {name: f"{__name__}.api.{name}" for name in ("intervals", "kafka", "metrics")}
_HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}


class _Package(ModuleType):
    """This module. A class, not a module's `__getattr__`: type checkers would take that for leave to use any name."""

    def __getattr__(self, name: str) -> Any:
        home = _HOMES.get(name) or _MODULES.get(name, f"{__name__}.{name}")
        if not name.startswith("_"):  # as those that tools ask for
            try:
                module = import_module(home)
            except ModuleNotFoundError as error:
                if error.name != home:
                    raise
            else:
                value = getattr(module, name) if name in _HOMES else module
                setattr(self, name, value)
                return value
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        # An import of the module `eventide.generate` ends with this, where the function of that name belongs.
        if isinstance(value, ModuleType) and _HOMES.get(name) == value.__name__:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions that go to Spark's workers name the package.
        return import_module, (__name__,)


sys.modules[__name__].__class__ = _Package
