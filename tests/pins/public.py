"""The public names of `eventide`: parameters of functions, methods of classes, names in modules."""

from __future__ import annotations

import dataclasses
import inspect
from types import ModuleType
from typing import Any

import eventide as ev

PLAIN = (str, int, float, bool, bytes, type(None), tuple)


def public_names() -> dict[str, Any]:
    """By full name. Annotations are left out: they name types, which are free to move."""
    found: dict[str, Any] = {}
    for name in ev.__all__:
        _describe(f"eventide.{name}", getattr(ev, name), found)
    for name, value in _returned().items():
        _describe(f"what {name} returns", type(value), found)
    return found


def _returned() -> dict[str, Any]:
    """Objects that users get and never make."""
    events = [{"ts": 1, "kind": "A"}, {"ts": 2, "kind": "B"}]
    query = ev.query("PATTERN SEQ(A, B)", type="kind", ts_unit="s")
    query.run(events)
    recognizer = ev.match_recognize(pattern="A B", order_by="ts", ts_unit="s", measures={"n": "count(*)"})
    return {
        "match_recognize": recognizer,
        "Query.diagnose": query.diagnose(events),
        "Query.metrics": query.metrics(),
        "timeline": ev.timeline(query=query, events=events),
    }


def _describe(name: str, value: Any, found: dict[str, Any]) -> None:
    if isinstance(value, ModuleType):
        own = getattr(value, "__all__", None) or [
            known
            for known, member in vars(value).items()
            if not known.startswith("_") and getattr(member, "__module__", None) == value.__name__
        ]
        found[name] = sorted(own)
        for known in own:
            _describe(f"{name}.{known}", getattr(value, known), found)
    elif inspect.isclass(value):
        found[name] = {"bases": [base.__name__ for base in value.__mro__[1:-1]], "made": _signature(value)}
        if dataclasses.is_dataclass(value):
            found[name]["fields"] = [field.name for field in dataclasses.fields(value)]
        for base in reversed(value.__mro__):
            if not base.__module__.startswith("eventide"):
                continue
            for known, member in vars(base).items():
                is_slot = type(member).__name__ == "member_descriptor"
                if (not known.startswith("_") and not is_slot) or known == "__call__":
                    found[f"{name}.{known}"] = _member(member)
    else:
        found[name] = _member(value)


def _member(value: Any) -> str:
    if isinstance(value, property):
        return "property"
    for kind in (classmethod, staticmethod):
        if isinstance(value, kind):
            return f"{kind.__name__} {_signature(value.__func__)}"
    return _signature(value) if callable(value) else type(value).__name__


def _signature(value: Any) -> str:
    try:
        given = inspect.signature(value)
    except ValueError:
        return "unknown"
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_default(parameter.default))
        for parameter in given.parameters.values()
    ]
    return str(inspect.Signature(plain))


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty or isinstance(value, PLAIN):
        return value
    return _Other(type(value).__name__)


@dataclasses.dataclass(frozen=True)
class _Other:
    """A default that is no plain value."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"
