"""Functions of a session that parts of the session call which are made before its context."""

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlfront.results.result import Result
from sqlfront.state.context import Context
from sqlfront_connectors import base as tables
from sqlfront_engine.engine import Engine
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.memory import MemoryBudget
from sqlfront_planner.catalog import Entry
from sqlfront_planner.plan_cache import PlanCache
from sqlfront_values.errors import InterfaceError
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront import system_tables
    from sqlfront.commands import jobs as job_commands
    from sqlfront.information_schema import service as information_schema
    from sqlfront.jobs import service as job_services
    from sqlfront.jobs.job_plan import JobPlan
    from sqlfront.jobs.job_session import StoredTarget
    from sqlfront.lanes import light
    from sqlfront.state.plans import Plan
    from sqlfront_cluster.members.member import Member
    from sqlfront_connectors import registry
    from sqlfront_engine.durable.event_store.events import JobSubmitted
    from sqlfront_planner import planning
    from sqlfront_planner.logical import LogicalPlan
else:
    system_tables = lazy_module("sqlfront.system_tables")
    job_commands = lazy_module("sqlfront.commands.jobs")
    information_schema = lazy_module("sqlfront.information_schema.service")
    light = lazy_module("sqlfront.lanes.light")
    registry = lazy_module("sqlfront_connectors.registry")
    planning = lazy_module("sqlfront_planner.planning")


class LateContext:
    """Functions that other parts of a session call, and that need the session's context. The context is made
    after those parts, so that ``context`` is set later. The methods give the tables of ``information_schema``
    and the sources, targets and rows of durable jobs."""

    def __init__(self) -> None:
        self.context: weakref.ref[Context] | None = None
        self._tables: information_schema.InformationSchema | None = None

    def table(self, name: str) -> "tables.Table":
        """Return the table ``information_schema.name`` with its current rows. Raises TABLE_OR_VIEW_NOT_FOUND
        if there is no such table."""
        if self._tables is None:
            assert self.context is not None
            self._tables = information_schema.InformationSchema(self.context)
        return self._tables.table(name)

    def entries(self) -> "tuple[Entry, ...]":
        """Return the entries of the session's catalog."""
        return self._opened().catalog.entries()

    def target(self, submitted: "JobSubmitted") -> "StoredTarget | None":
        """Return the object that puts the rows of a durable job into the job's target table or directory;
        None for a query, whose rows stay in the job's files."""
        return job_commands.target_of(self._opened(), submitted)

    def sources(self, plan: "JobPlan", settings: "Settings", *, versions: bool) -> Mapping[str, object]:
        """Return the sources that a durable job with the ``plan`` and the ``settings`` reads, by key, for a
        takeover of the job: the tables of Spark, and if ``versions``, the versions of spread tables. Raises
        OperationalError if a spread table has changed, or isn't known here; Spark isn't asked yet."""
        return job_commands.sources_of(self._opened(), plan, settings, versions=versions)

    def _opened(self) -> Context:
        context = None if self.context is None else self.context()
        if context is None:
            raise InterfaceError("the session is closed")
        return context

    def read(self, plan: "LogicalPlan") -> Result:
        """Run a logical plan as a light job, and return its result. Raises InterfaceError if the session is
        gone."""
        context = self._opened()
        return light.run_plan(context, planning.plan_logical(plan, context.settings, context.target))


def path_table(
    runner: "Engine | Member",
    plans: "PlanCache[Plan]",
    jobs: "job_services.JobService | None",
    files: FileAccess,
    memory: MemoryBudget,
    parts: LateContext,
    format_name: str,
    path: str,
) -> "tables.Table | None":
    """Return the table that ``format_name.path`` names in a query: a file for ``parquet.`path```, a system
    table for ``sys``, the rows of a durable job for ``job``, a table of ``information_schema``. None if no
    connector reads the format. ``runner`` to ``parts`` are parts of the session that the tables need."""
    if format_name == "sys":
        return system_tables.system_table(path, system_tables.SystemState(runner, plans, jobs, parts.entries))
    if format_name == "job" and jobs is not None:
        return jobs.table(path)
    if format_name == "information_schema":
        return parts.table(path)
    definition = tables.TableDefinition(f"{format_name}.`{path}`", location=path, files=files, memory=memory)
    return registry.path_table(format_name, definition)
