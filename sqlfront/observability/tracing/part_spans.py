"""A span for each part of a job that a member runs for another member."""

from functools import partial
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sqlfront_cluster.members.jobs.participation import PartEnded
from sqlfront_cluster.members.member import Member
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_values.errors import Error

#: The attributes of the span of a job's part, each with its meaning. The span's name is ``job``.
ATTRIBUTES: Final = (
    ("db.system.name", "`sqlfront`."),
    ("sqlfront.job_id", "The job's number; a statement may have several jobs."),
    ("sqlfront.member", "The member that ran the part."),
    ("sqlfront.coordinator", "The member or client that runs the statement."),
    ("sqlfront.status", "`completed`, `failed`, `cancelled` or `timed out`."),
    ("error.type", "Spark's condition of the error, or the name of its class."),
)

_PROPAGATOR: Final = TraceContextTextMapPropagator()


def watch_parts(member: Member) -> None:
    """Begin to make spans on ``member``: one for each part of a job that it runs for another member, if the
    job belongs to a trace."""
    member.watch_part = partial(_begin, member.name)


def _begin(member: str, context: str, job: int, coordinator: str) -> PartEnded:
    parent = _PROPAGATOR.extract({"traceparent": context})
    attributes: dict[str, str | int] = {
        "db.system.name": "sqlfront",
        "sqlfront.job_id": job,
        "sqlfront.member": member,
        "sqlfront.coordinator": coordinator,
    }
    tracer = trace.get_tracer("sqlfront")
    return partial(_end, tracer.start_span("job", parent, SpanKind.SERVER, attributes))


def _end(span: Span, status: JobStatus, error: Error | None) -> None:
    span.set_attribute("sqlfront.status", status.value)
    if error is not None:
        span.set_attribute("error.type", error.condition or type(error).__name__)
        span.set_status(Status(StatusCode.ERROR))
    span.end()
