"""A span for each statement, by OpenTelemetry's semantic conventions for database clients."""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sqlfront.observability.masking import masked, masked_reason
from sqlfront.observability.observation import BUSY, PIPELINE, Observation
from sqlfront_values.settings import Settings

#: The name of the database system in spans.
SYSTEM: Final = "sqlfront"

#: The attributes of a statement's span, each with its meaning.
ATTRIBUTES: Final = (
    ("db.system.name", "`sqlfront`."),
    ("db.namespace", "The session's catalog and current database, with `|` between them."),
    ("db.operation.name", "The first word of the statement, such as `SELECT`; the span's name, too."),
    ("db.query.text", "The statement's text, with `?` for literals."),
    ("db.response.returned_rows", "Rows that the reader got."),
    ("db.response.status_code", "The SQLSTATE of the error that ended the statement."),
    ("error.type", "Spark's condition of the error, or the name of its class."),
    ("sqlfront.query_id", "The statement's id, as in `sys.queries`."),
    ("sqlfront.state", "`finished`, `closed`, `failed`, `cancelled` or `timed out`."),
    ("sqlfront.lane", "The lane."),
    ("sqlfront.reason", "The reason for the lane, with `?` for quoted values."),
    ("sqlfront.plan_cached", "Whether the plan was in the cache."),
    ("sqlfront.members", "The members that took part in the statement's jobs."),
    ("sqlfront.rows_read", "Rows that the statement read from tables."),
    ("sqlfront.rows_written", "Rows that the statement wrote."),
    ("sqlfront.seconds.parse", "Seconds in which the text became a statement."),
    ("sqlfront.seconds.plan", "Seconds in which the way and the plan were found or made."),
    ("sqlfront.seconds.wait", "Seconds of waiting for Spark to start, or for a change of the cluster."),
    ("sqlfront.seconds.run", "Seconds until the first rows were there, or until a command had ended."),
    ("sqlfront.seconds.fetch", "Seconds in which the reader waited for further rows."),
)

#: First words of statements; other words, which may be anything, are no names of operations.
_OPERATIONS: Final = frozenset(
    (
        "ADD", "ALTER", "ANALYZE", "CACHE", "CALL", "CANCEL", "CLEAR", "CREATE", "DELETE", "DESC", "DESCRIBE",
        "DROP", "EXECUTE", "EXPLAIN", "FROM", "INSERT", "KILL", "LOAD", "MAP", "MERGE", "MSCK", "REDUCE",
        "REFRESH", "REPAIR", "REPLACE", "RESET", "RESUME", "SELECT", "SET", "SHOW", "TABLE", "TRUNCATE",
        "UNCACHE", "UPDATE", "USE", "VALUES", "WITH",
    )
)  # fmt: skip
_FIRST_WORD: Final = re.compile(r"[\s(;]*(\w+)")
_PROPAGATOR: Final = TraceContextTextMapPropagator()
#: The attributes of the phases' seconds.
_SECONDS: Final = tuple((phase, f"sqlfront.seconds.{phase.name.lower()}") for phase in BUSY)

Value = str | bool | int | float | tuple[str, ...]


class StatementSpans:
    """The watcher that makes a span for each statement; the spans of the statement's jobs belong to the same
    trace. ``settings`` returns the session's current settings; ``literals``: whether the texts in spans keep
    their literals."""

    def __init__(self, settings: Callable[[], Settings], *, literals: bool) -> None:
        self._settings = settings
        self._literals = literals
        self._tracer = trace.get_tracer(SYSTEM)

    def begun(self, observation: Observation) -> None:
        """Begin the statement's span, a child of the caller's current span."""
        hidden, operation = _shown(observation.text)
        settings = self._settings()
        attributes: dict[str, str | int] = {
            "db.system.name": SYSTEM,
            "db.namespace": f"{settings.catalog}|{settings.database}",
            "db.operation.name": operation,
            "db.query.text": observation.text if self._literals else hidden,
            "sqlfront.query_id": observation.id,
        }
        span = self._tracer.start_span(operation, kind=SpanKind.CLIENT, attributes=attributes)
        observation.span = span
        if observation.query is not None:
            observation.query.trace = partial(context_of, span)

    def ended(self, observation: Observation) -> None:
        """Set the span's final attributes, and end the span."""
        span, observation.span = observation.span, None
        if not isinstance(span, Span) or not span.is_recording():
            return
        span.set_attributes(_facts(observation))
        if observation.error_type:
            span.set_status(Status(StatusCode.ERROR))
        # The observer may tell of a dropped result later.
        span.end(int((observation.began + observation.age) * 1e9))

    def close(self) -> None:
        """Do nothing: the tracer belongs to the process, not to the session."""


def operation_of(text: str) -> str:
    """Return the first word of a statement in upper case, such as SELECT; ``STATEMENT`` for a text that
    doesn't begin with a statement's keyword.

    >>> operation_of("(select ?)"), operation_of("hunter?")
    ('SELECT', 'STATEMENT')
    """
    if text == PIPELINE:
        return "PIPELINE"
    found = _FIRST_WORD.match(text)
    word = "" if found is None else found[1].upper()
    return word if word in _OPERATIONS else "STATEMENT"


def context_of(span: Span) -> str:
    """Return the value of the header ``traceparent`` for children of the span; empty if there is no trace,
    for example since the process has no tracer provider."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span))
    return carrier.get("traceparent", "")


@lru_cache(256)
def _shown(text: str) -> tuple[str, str]:
    """Return the text with ``?`` for literals, and the name of the statement's operation."""
    hidden = masked(text)
    return hidden, operation_of(hidden)


def _facts(observation: Observation) -> dict[str, Value]:
    """Return the span's attributes whose values are known when the statement has ended; an attribute without
    a value is left out."""
    times = observation.times()
    facts: dict[str, Value | None] = {
        "db.response.returned_rows": observation.rows_given,
        "db.response.status_code": observation.sqlstate or None,
        "error.type": observation.error_type or None,
        "sqlfront.state": observation.state.value,
        "sqlfront.lane": observation.lane or None,
        "sqlfront.reason": masked_reason(observation.reason) or None,
        "sqlfront.plan_cached": observation.plan_cached,
        "sqlfront.members": observation.members or None,
        "sqlfront.rows_read": observation.rows_read,
        "sqlfront.rows_written": observation.rows_written,
        **{name: times[phase] for phase, name in _SECONDS},
    }
    return {name: value for name, value in facts.items() if value is not None}
