"""The state of a session that statements work on: settings, names, plans, engine and members.

:class:`~sqlfront.session.Session` composes the context; lanes and commands take the context and never the
session.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from sqlfront.config import Config
from sqlfront.state.home import Home
from sqlfront.state.options import Options
from sqlfront.state.variables import Variables
from sqlfront_engine.engine import Engine
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder import BindSettings
from sqlfront_planner.catalog import Catalog, Lookups
from sqlfront_planner.plan_cache import PlanCache
from sqlfront_planner.planning import PlanTarget
from sqlfront_values import room
from sqlfront_values.errors import InternalError, ProgrammingError
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront.cluster import Cluster
    from sqlfront.jobs.service import JobService
    from sqlfront.lanes.request import StatementRequest
    from sqlfront.observability.observer import Observer
    from sqlfront.state.plans import Plan
    from sqlfront.state.spark_beside import SparkBeside
    from sqlfront_cluster.members.member import Member
    from sqlfront_connectors.base import Table
    from sqlfront_planner.tokens import kept_escapes
else:
    kept_escapes = lazy_module("sqlfront_planner.tokens.kept_escapes")


class Context(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """The state of a session on which statements work.

    ``cluster``: the session's members, None = this process alone. ``files``: the rule that says which files
    statements may open. ``home``: the directory for tables without LOCATION. ``bases``: for each copy of a
    view, the state from which it was made (:class:`CopyBasis`), if other sessions can change the view's
    tables. ``spark``: the Spark session beside this session, None = none. ``observer``: the observer of the
    statements, None = none. ``jobs``: the durable jobs of the session's job store, None = no store.
    ``variables``: the session's SQL variables. The engine ends when the context is garbage collected.
    """

    config: Config
    options: Options
    engine: Engine
    cluster: "Cluster | None"
    files: FileAccess
    home: Home
    catalog: Catalog
    plans: "PlanCache[Plan]"
    bases: "dict[Table, CopyBasis]"
    spark: "SparkBeside | None"
    observer: "Observer | None" = None
    jobs: "JobService | None" = None
    variables: Variables = msgspec.field(default_factory=Variables)

    @property
    def settings(self) -> Settings:
        """The settings with which expressions are evaluated, such as the time zone, as SET left them."""
        return self.options.settings

    @property
    def bind_settings(self) -> BindSettings:
        """The settings that the binder needs, as SET left them."""
        options = self.options
        return BindSettings(
            options.settings.time_zone,
            options.ansi,
            *options.recursion_limits,
            keeps_last_key=options.keeps_last_key,
            sizes_null=options.sizes_null,
            takes_time=options.takes_time,
        )

    @property
    def runner(self) -> "Engine | Member":
        """The coordinator that runs this session's queries: the engine, or the session's member of a
        cluster."""
        return self.engine if self.cluster is None else self.cluster.coordinator

    @property
    def memory(self) -> int:
        """The memory limit in bytes of all members together, lite members excluded; without members, the
        memory limit of this process."""
        return sum(self._memories)

    @property
    def statement_memory(self) -> int:
        """The bytes that one statement may hold on all members together, lite members excluded; without
        members, in this process."""
        most = self.config.query_memory_limit
        return sum(memory if most is None else min(memory, most) for memory in self._memories)

    @property
    def _memories(self) -> list[int]:
        members = () if self.cluster is None else self.cluster.member_list.members
        # Members in this process report no memory: they share the process's limit.
        return [info.memory for info in members if not info.lite and info.memory] or [
            self.engine.memory.limit
        ]

    @property
    def backups(self) -> int:
        """The number of backups, 0 to 2, of a new memory table that says nothing about backups and can't be
        loaded again from a source."""
        if self.cluster is None:
            return 0
        asked = self.config.backups
        return self.cluster.usual_backups if asked is None else int(asked)

    @property
    def target(self) -> PlanTarget:
        """The members and limits for which the planner makes plans of this session's queries."""
        return PlanTarget(
            self.engine.workers, self.cluster is not None, self.config.collect_rows, self.options.most_keys
        )

    @property
    def plan_key(self) -> object:
        """The values on which a plan depends besides the text, the arguments and the relations in the text:
        the settings and, in a cluster, the version of the partitions' owners. A cached plan is valid only for
        an equal key."""
        if self.cluster is None:
            return self.options.key
        return self.options.key, self.cluster.member_list.dealt

    def usual(self, text: str) -> str:
        """Return the statement that means under Spark's default settings of the parser what the user's
        ``text`` means under the session's. Beside Spark the text is returned unchanged: Spark answers if its
        settings differ."""
        if self.spark is not None or not self.options.keeps_escapes:
            return text
        return kept_escapes.with_usual_escapes(text)

    def is_settled(self, key: object) -> bool:
        """Return whether a plan made for the plan key ``key`` is still valid by its settings: they are
        unchanged, and no SET is at work."""
        settings = self.options.key
        taken = key[0] if self.cluster is not None and isinstance(key, tuple) else key
        return settings is not None and taken is settings

    def home_path(self) -> str:
        """Return the directory for tables without LOCATION, which the first call creates. Raises
        ProgrammingError for a session of a running cluster without a warehouse, because the members can't
        read this process's temporary directory."""
        if self.config.warehouse is None and self.config.cluster is not None:
            raise ProgrammingError(
                "a table of a cluster needs a LOCATION, unless the session has a warehouse "
                "(connect(..., config=Config(warehouse=...)))"
            )
        return self.home.path()

    def begin(self, text: str) -> QueryRun:
        """Begin a run for the statement ``text``, with the session's memory limit for one statement. The
        returned run can be cancelled by any thread."""
        return self.engine.begin_query(self.config.query_memory_limit, text)

    def limit(self, request: "StatementRequest") -> float | None:
        """Return the number of seconds that the statement of ``request`` may take: the request's timeout,
        else the session's; None = no limit."""
        return self.options.timeout if request.timeout is None else request.timeout

    def limited(self, text: str, timeout: float | None, query: QueryRun | None) -> QueryRun | None:
        """Return the run of a statement, with the statement's timeout set. ``timeout`` in seconds; None = the
        session's timeout. ``query``: the run, None = begin one if there is a timeout. Without timeout and
        ``query``, return None."""
        seconds = self.options.timeout if timeout is None else timeout
        if seconds is not None:
            query = query or self.begin(text)
            query.timeout = seconds
        return query

    def watched(self, query: QueryRun | None) -> AbstractContextManager[None]:
        """Return a context for work on the current thread, such as planning. Once ``query`` is cancelled or
        its timeout is over, the work in the context ends with the error of the query. With ``query`` None,
        nothing ends the work."""
        return nullcontext() if query is None else _Watched(query, self.engine.clock.now)


class CopyBasis(msgspec.Struct, frozen=True):
    """The state from which CACHE TABLE's copy of the table or view ``name`` was made, by which a later change
    is noticed. ``sources``: the tables that were read, each with the version that was read. ``catalog``: the
    version of the catalog at that time. ``lookups``: the relation that each name in the copied view's query
    stood for."""

    name: str
    catalog: int
    sources: "tuple[tuple[Table, int], ...]"
    lookups: "Lookups" = {}

    @property
    def is_current(self) -> bool:
        """Whether each table of ``sources`` still has the version that was read."""
        return all(table.snapshot().version == version for table, version in self.sources)


class _Watched(room.watched):
    """The context manager of :meth:`Context.watched`. ``now`` returns the time of the engine's clock."""

    __slots__ = ("_now", "_query")

    def __init__(self, query: QueryRun, now: Callable[[], float]) -> None:
        super().__init__(partial(_is_over, query, now))
        self._query = query
        self._now = now

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if isinstance(error, room.StoppedError):
            stopped = self._query.stopped(self._now)
            raise stopped or InternalError("a query stopped without a request to stop") from None


def _is_over(query: QueryRun, now: Callable[[], float]) -> bool:
    return query.cancelled or (query.timeout is not None and query.stopped(now) is not None)
