"""The service that runs in the process of each member, besides jobs: it holds shares of tables as long as a
reader may need them. On the first member, it also repairs permanent tables after a change of the cluster."""

import logging
from threading import Lock
from typing import TYPE_CHECKING

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the member
from sqlfront.cluster import caretaker as caretakers
from sqlfront.cluster import processes
from sqlfront.config import Config
from sqlfront.observability.tracing.availability import check_tracing
from sqlfront_cluster.durable_tasks.task_door import TASKS, TaskDoor
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_connectors.memory.exchange.holding import GRACE, ShareHolder
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront import session as sessions
    from sqlfront.observability.metrics import endpoint as endpoints
    from sqlfront.observability.tracing import part_spans as spans
else:
    spans = lazy_module("sqlfront.observability.tracing.part_spans")
    endpoints = lazy_module("sqlfront.observability.metrics.endpoint")
    sessions = lazy_module("sqlfront.session")

logger = logging.getLogger(__name__)


class TableService(ShareHolder):
    """The service by which a member holds its shares of memory tables, runs tasks of durable jobs, and has
    the cluster's tables repaired after a loss of members. ``grace``: seconds for which a share is held after
    its version was replaced. ``metrics``: the metrics of the member's process, None = no metrics; ``traced``:
    whether the parts of jobs that the member runs have spans of OpenTelemetry."""

    def __init__(
        self,
        grace: float = GRACE,
        metrics: "endpoints.MemberMetrics | None" = None,
        *,
        traced: bool = False,
    ) -> None:
        super().__init__(grace)
        self._tasks = TaskDoor()
        self._store.services[TASKS] = self._tasks
        self._metrics = metrics
        self._traced = traced
        self._caretaker: caretakers.Caretaker | None = None
        # Held while the caretaker is made: two threads may report changes of the member list.
        self._beginning = Lock()

    def attach(self, running: RunningMember) -> None:
        """Begin to hold shares on the member ``running``, to serve its metrics and spans if wanted, and to
        watch the member list for the loss of members."""
        super().attach(running)
        self._tasks.attach(running)
        if self._traced:
            spans.watch_parts(running.member)
        if self._metrics is not None:
            self._metrics.attach(running.member)
            logger.info(
                "metrics of member %s are served at http://%s", running.member.name, self._metrics.address
            )
        running.membership.list_watchers.append(self._look_after)

    def close(self) -> None:
        """Stop repairing tables and serving metrics."""
        if self._metrics is not None:
            self._metrics.close()
        if self._caretaker is not None:
            self._caretaker.close()

    def _look_after(self) -> None:
        members = self._running.member.members.data_members
        if members and members[0] == self._running.membership.name and self._current:
            with self._beginning:
                if self._caretaker is None:
                    self._caretaker = caretaker_of(self._running)
            self._caretaker.wake()


def caretaker_of(running: RunningMember) -> "caretakers.Caretaker":
    """Return a new caretaker, which repairs the cluster's permanent tables after a change of the cluster; it
    works on the member ``running``, with a session of its own."""
    members = processes.ProcessMembers(running)
    session = sessions.Session(Config(), members)
    return caretakers.Caretaker(lambda: session.context, members.documents, everybodys=True)


def service(metrics: str = "", tracing: str = "") -> TableService:
    """Return the service of a new member; launchers call this function by its name. ``metrics``: the address
    ``host:port`` at which the member's process serves metrics, empty = no metrics. ``tracing``: ``on`` for
    spans of the parts of jobs that the member runs, empty = none. Raises OperationalError if a library is
    missing or the port can't be opened, ProgrammingError for a malformed address."""
    if tracing:
        check_tracing()
    return TableService(metrics=endpoints.MemberMetrics(metrics) if metrics else None, traced=bool(tracing))
