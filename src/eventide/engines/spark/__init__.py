"""Queries on Spark. Whatever needs Spark imports this first, so here it is said once what is missing."""

from importlib.util import find_spec

from eventide.errors import InputError


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # None stands in its place among the imported modules
        return False


for _name, _module in (("PySpark", "pyspark"), ("pandas", "pandas")):
    if not _is_there(_module):
        raise InputError(
            f"{_name} is not installed, and queries on Spark need it", hint="pip install 'eventide[spark]'"
        )
