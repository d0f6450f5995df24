"""Complex event queries on Apache Spark, from Python: one query, embedded, batch and streaming."""

from eventide.api import Query, query, stream_metrics
from eventide.errors import EventideError, InputError, QueryError, UnsupportedError
from eventide.generate import generate, sample

__all__ = [
    "EventideError",
    "InputError",
    "Query",
    "QueryError",
    "UnsupportedError",
    "generate",
    "query",
    "sample",
    "stream_metrics",
]
__version__ = "0.1.0"
