"""Complex event queries on Apache Spark, from Python: one query, embedded, batch and streaming."""

from eventide import intervals
from eventide.allen import allen, to_instants
from eventide.api import Query, query, stream_metrics
from eventide.builder import Pattern
from eventide.detection import Detection, detect
from eventide.errors import EventideError, InputError, QueryError, UnsupportedError
from eventide.generate import generate, sample
from eventide.recognition import explain_sql, match_recognize, sql
from eventide.timeline import timeline

__all__ = [
    "Detection",
    "EventideError",
    "InputError",
    "Pattern",
    "Query",
    "QueryError",
    "UnsupportedError",
    "allen",
    "detect",
    "explain_sql",
    "generate",
    "intervals",
    "match_recognize",
    "query",
    "sample",
    "sql",
    "stream_metrics",
    "timeline",
    "to_instants",
]
__version__ = "0.1.0"
