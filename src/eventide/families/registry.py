"""The families by name. One is imported when a query first needs it."""

from __future__ import annotations

from importlib import import_module

from eventide.families.base import Family
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.protocol import Operator, Spec

_FAMILIES: dict[str, Family] = {}
# By the kind of a parsed query; any other is one of events.
_OF_TREES = {"JoinQuery": "joins", "SituationQuery": "situations", "WindowQuery": "windows"}


def register(family: Family) -> Family:
    """Make a family known by its name; its specs have that name as `family`."""
    _FAMILIES[family.name] = family
    return family


def family_named(name: str) -> Family:
    """The family of that name; the folder of one of ours is imported now."""
    if name not in _FAMILIES:
        import_module(f"eventide.families.{name}.family")
    return _FAMILIES[name]


def family_of_tree(tree: object) -> str:
    """The name of the family that a parsed query belongs to."""
    return _OF_TREES.get(type(tree).__name__, "events")


def family_of(spec: Spec) -> Family:
    """The family whose spec it is."""
    return family_named(spec.family)


def make_operator(spec: Spec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
    """A new operator without state; `compute` is the engine's way to compute columns."""
    return family_of(spec).operator(spec, n_threads, compute)
