"""The system tables ``sys.members``, ``sys.clients``, ``sys.light_jobs``, ``sys.partitions``,
``sys.shares``, ``sys.plans`` and ``sys.queries`` show the state and activity of a session's cluster, the
session's cached plans, and statements (:mod:`sqlfront.observability.history`). ``sys.jobs``,
``sys.job_stages``, ``sys.job_tasks`` and ``sys.job_events`` show the durable jobs
(:mod:`sqlfront.jobs.listing`).

Each statement that names a system table reads a fresh snapshot, taken when the statement is planned; so
``sys.light_jobs`` doesn't show the query that reads it. A session without members is a cluster of one
member.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront import table_shares
from sqlfront.jobs import listing as job_listing
from sqlfront.light_jobs.listing import listing
from sqlfront.observability import history
from sqlfront.state.plans import Plan
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.member_list import MemberList, alone
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_engine.engine import Engine
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.catalog import Entry
from sqlfront_planner.plan_cache import PlanCache
from sqlfront_values.arrow.arrays import bitmap, from_values
from sqlfront_values.errors import Error, spark_error
from sqlfront_values.settings import EMBEDDED
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP

if TYPE_CHECKING:
    from sqlfront.jobs.service import JobService

#: The database name of the system tables.
SYSTEM: Final = "sys"
#: In ``sys.light_jobs``: the status in the row of a member that doesn't list its jobs.
NO_ANSWER: Final = "no answer"

MEMBERS: Final = pa.schema(
    [
        ("name", STRING),
        ("address", STRING),
        ("role", STRING),
        ("partitions", INT),
        ("coordinator", BOOLEAN),
        ("list_version", BIGINT),
    ]
)
CLIENTS: Final = pa.schema([("name", STRING), ("listed", BOOLEAN), ("here", BOOLEAN)])
LIGHT_JOBS: Final = pa.schema(
    [
        ("id", BIGINT),
        ("coordinator", STRING),
        ("status", STRING),
        ("started", TIMESTAMP),
        ("seconds", DOUBLE),
        ("participants", pa.list_(STRING)),
        ("description", STRING),
    ]
)
PARTITIONS: Final = pa.schema(
    [("partition", INT), ("member", STRING), ("backups", pa.list_(STRING)), ("state", STRING)]
)
SHARES: Final = pa.schema(
    [
        ("table_name", STRING),
        ("member", STRING),
        ("partitions", INT),
        ("rows", BIGINT),
        ("bytes", BIGINT),
        ("backups", pa.list_(STRING)),
        ("backup_bytes", BIGINT),
        ("state", STRING),
    ]
)
PLANS: Final = pa.schema(
    [
        ("text", STRING),
        ("lane", STRING),
        ("tables", pa.list_(STRING)),
        ("hits", BIGINT),
        ("made", TIMESTAMP),
        ("last_used", TIMESTAMP),
    ]
)

Row = tuple[object, ...]


class SystemState(msgspec.Struct, frozen=True):
    """The state of a session that system tables show. ``runner``: the engine or member that runs the
    session's queries; ``plans``: the session's plan cache; ``jobs``: its durable jobs, None = the session has
    no job store; ``entries``: returns the catalog's entries."""

    runner: Engine | Member
    plans: PlanCache[Plan]
    jobs: "JobService | None" = None
    entries: Callable[[], Iterable[Entry]] = tuple


def system_table(name: str, state: SystemState) -> ArrowTable:
    """Return the table ``sys.name`` with its current rows, for a session in this state. Raises
    ProgrammingError (TABLE_OR_VIEW_NOT_FOUND) if no system table has the name."""
    found = SYSTEM_TABLES.get(name.lower())
    if found is None:
        raise unknown_table(SYSTEM, name, SYSTEM_TABLES)
    schema, rows = found
    return ArrowTable(f"{SYSTEM}.{name.lower()}", _table(schema, rows(state)))


def unknown_table(schema: str, name: str, known: Iterable[str]) -> Error:
    """Return the error for a ``name`` that no system table of ``schema`` (such as ``sys``) has; the message
    lists the tables ``known``."""
    tables = ", ".join(quoted((schema, each)) for each in known)
    return spark_error(
        "TABLE_OR_VIEW_NOT_FOUND",
        f"The table or view {quoted((schema, name))} cannot be found. The tables are {tables}.",
    )


# ---- rows


def _members(state: SystemState) -> list[Row]:
    """Return the rows of ``sys.members``, in the order in which the members joined."""
    runner = state.runner
    here = runner.name if isinstance(runner, Member) else EMBEDDED
    members = _member_list(runner)
    owned = Counter(members.owners)
    return [
        (each.name, each.address or None, each.role, owned[each.name], each.name == here, members.version)
        for each in members.members
    ]


def _clients(state: SystemState) -> list[Row]:
    """Return the rows of ``sys.clients``, by name: the sessions of the cluster. ``listed``: the session has a
    place in the member list, as a lite member; ``here``: it is the session that asks."""
    runner = state.runner
    if not isinstance(runner, Member):
        return []
    lite = {each.name for each in runner.members.members if each.lite}
    return [(name, name in lite, name == runner.name) for name in sorted(lite | runner.clients)]


def _member_list(runner: Engine | Member) -> MemberList:
    return runner.members if isinstance(runner, Member) else alone(EMBEDDED)


def _light_jobs(state: SystemState) -> list[Row]:
    """Return the rows of ``sys.light_jobs``, oldest first; then, for each member that doesn't answer, a row
    with its name and otherwise nulls."""
    found = listing(state.runner)
    rows: list[Row] = [
        (
            job.id,
            job.coordinator,
            job.status.value,
            datetime.fromtimestamp(job.started, UTC),
            job.seconds,
            job.participants,
            job.description,
        )
        for job in found.jobs
    ]
    return rows + [(None, name, NO_ANSWER, None, None, None, None) for name in found.silent]


def _partitions(state: SystemState) -> list[Row]:
    return table_shares.partition_rows(
        _member_list(state.runner), table_shares.memory_tables(state.entries())
    )


def _shares(state: SystemState) -> list[Row]:
    return table_shares.share_rows(state.runner, tuple(table_shares.memory_tables(state.entries())))


def _plans(state: SystemState) -> list[Row]:
    """Return the rows of ``sys.plans``, least recently used first. ``text`` is the text of the first query
    with the plan, ``hits`` the number of later uses."""
    return [
        (
            each.text,
            str(each.plan.lane),
            each.tables,
            each.hits,
            datetime.fromtimestamp(each.made, UTC),
            datetime.fromtimestamp(each.last_used / 1e9, UTC),
        )
        for each in state.plans.entries()
    ]


def _queries(state: SystemState) -> list[Row]:
    """Return the rows of ``sys.queries``, oldest first."""
    return history.rows(state.runner, listing(state.runner).jobs)


def _of_jobs(rows: "Callable[[JobService], list[Row]]") -> "Callable[[SystemState], list[Row]]":
    """Return the function that makes a system table's rows from the session's durable jobs by ``rows``; it
    returns no rows for a session without a job store."""
    return lambda state: [] if state.jobs is None else rows(state.jobs)


#: The columns and rows of each system table, by name.
SYSTEM_TABLES: Final[Mapping[str, tuple[pa.Schema, Callable[[SystemState], list[Row]]]]] = {
    "clients": (CLIENTS, _clients),
    "job_events": (job_listing.JOB_EVENTS, _of_jobs(job_listing.events)),
    "job_stages": (job_listing.JOB_STAGES, _of_jobs(job_listing.stages)),
    "job_tasks": (job_listing.JOB_TASKS, _of_jobs(job_listing.tasks)),
    "jobs": (job_listing.JOBS, _of_jobs(job_listing.jobs)),
    "light_jobs": (LIGHT_JOBS, _light_jobs),
    "members": (MEMBERS, _members),
    "partitions": (PARTITIONS, _partitions),
    "plans": (PLANS, _plans),
    "queries": (history.SCHEMA, _queries),
    "shares": (SHARES, _shares),
}


# ---- Arrow


def _table(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    columns = [_column([row[place] for row in rows], field.type) for place, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(values: Sequence[object], data_type: pa.DataType) -> pa.Array:
    if not pa.types.is_list(data_type):
        return from_values(values, data_type)
    lists = [value if isinstance(value, tuple) else None for value in values]
    valid = np.fromiter((value is not None for value in lists), np.bool_, len(lists))
    ends = np.cumsum([0, *(len(value or ()) for value in lists)], dtype=np.int32)
    items = from_values([item for value in lists for item in value or ()], data_type.value_type)
    buffers = [bitmap(valid), pa.py_buffer(ends)]
    return pa.Array.from_buffers(data_type, len(lists), buffers, children=[items])
