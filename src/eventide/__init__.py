"""Complex event queries on Apache Spark, from Python: one query, embedded, batch and streaming."""

from eventide import intervals, kafka, metrics
from eventide.allen import allen, to_instants
from eventide.api import Query, query, stream_metrics
from eventide.builder import Pattern
from eventide.detection import Detection, detect
from eventide.errors import EventideError, EventideWarning, InputError, QueryError, UnsupportedError
from eventide.generate import generate, sample
from eventide.recognition import explain_sql, match_recognize, sql
from eventide.rules import RuleSet
from eventide.streams import write_stream
from eventide.timeline import timeline

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
    "allen",
    "detect",
    "explain_sql",
    "generate",
    "intervals",
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
