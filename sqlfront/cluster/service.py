"""The service that runs in the process of each member, besides jobs: it holds shares of tables as long as a
reader may need them, and runs tasks of durable jobs. On the first member, it also repairs permanent tables
after a change of the cluster. With a job store, it stands by to coordinate durable jobs whose coordinator is
gone."""

import logging
import threading
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the member
from sqlfront.cluster import caretaker as caretakers
from sqlfront.cluster import handover, processes
from sqlfront.config import Config
from sqlfront.observability.tracing.availability import check_tracing
from sqlfront_cluster.durable_tasks.task_door import TASKS, TaskDoor
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_connectors.memory.exchange.holding import GRACE, ShareHolder
from sqlfront_values.errors import Error
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront import session as sessions
    from sqlfront.jobs import stand_by as stand_bys
    from sqlfront.observability.metrics import endpoint as endpoints
    from sqlfront.observability.tracing import part_spans as spans
else:
    spans = lazy_module("sqlfront.observability.tracing.part_spans")
    endpoints = lazy_module("sqlfront.observability.metrics.endpoint")
    sessions = lazy_module("sqlfront.session")
    stand_bys = lazy_module("sqlfront.jobs.stand_by")

logger = logging.getLogger(__name__)


class TableService(ShareHolder):
    """The service by which a member holds its shares of memory tables, runs tasks of durable jobs, and has
    the cluster's tables repaired after a loss of members. ``grace``: seconds for which a share is held after
    its version was replaced. ``metrics``: the metrics of the member's process, None = no metrics; ``traced``:
    whether the parts of jobs that the member runs have spans of OpenTelemetry. ``job_store``: the directory
    or URL of the store for whose jobs the member stands by, empty = none."""

    def __init__(
        self,
        grace: float = GRACE,
        metrics: "endpoints.MemberMetrics | None" = None,
        *,
        traced: bool = False,
        job_store: str = "",
    ) -> None:
        super().__init__(grace)
        self._tasks = TaskDoor()
        self._store.services[TASKS] = self._tasks
        self._metrics = metrics
        self._traced = traced
        self._job_store = job_store
        self._stand_by: stand_bys.StandBy | None = None
        self._stands_by = self._left = False
        self._session: sessions.Session | None = None
        self._caretaker: caretakers.Caretaker | None = None
        # Held while the caretaker or the stand-by is made or ended: several threads may report changes of the
        # member list.
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
        if self._job_store:
            running.membership.list_watchers.append(self._begin_to_stand_by)

    def hand_over(self, is_over: Callable[[], bool], *, forced: bool) -> bool:
        """Move the member's rows of memory tables to the other members
        (:class:`~sqlfront.cluster.handover.Handover`)."""
        members, membership = processes.ProcessMembers(self._running), self._running.membership
        return handover.Handover(members, membership, self._store.bytes_of, is_over, forced=forced).run()

    def leave(self) -> None:
        """Leave the durable jobs that this member coordinates to other members."""
        with self._beginning:
            self._left = True
        if self._stand_by is not None:
            self._stand_by.stop()

    def close(self) -> None:
        """Stop coordinating durable jobs, repairing tables and serving metrics, and remove outputs of durable
        jobs from the disk."""
        self.leave()
        self._tasks.close()
        if self._metrics is not None:
            self._metrics.close()
        if self._caretaker is not None:
            self._caretaker.close()

    def _look_after(self) -> None:
        members, membership = self._running.member.members, self._running.membership
        # Without documents the keeper deals the partitions itself whenever a member joins.
        undealt = bool(membership.documents) and not {*members.heirs} <= {*members.owners}
        if members.heirs[:1] == (membership.name,) and (self._current or undealt):
            with self._beginning:
                if self._caretaker is None:
                    self._caretaker = caretaker_of(self._running)
            self._caretaker.wake()

    def _begin_to_stand_by(self) -> None:
        """Begin to stand by for the jobs of the store, on a thread, once the member has joined."""
        if self._running.membership.name not in self._running.member.members.data_members:
            return
        with self._beginning:
            if not self._stands_by:
                self._stands_by = True
                threading.Thread(target=self._stand, name="sqlfront-stand-by", daemon=True).start()

    def _stand(self) -> None:
        try:
            members = processes.ProcessMembers(self._running)
            # The end of a session ends its member, so that the session is kept as long as the service.
            self._session = session = sessions.Session(Config(job_store=self._job_store), members)
        except Error as error:
            logger.error("the member can't stand by for durable jobs: %s", error)
            return
        with self._beginning:
            if self._left:
                return
            self._stand_by = stand_by = stand_by_of(session)
        stand_by.run()


def stand_by_of(session: "sessions.Session") -> "stand_bys.StandBy":
    """Return a new loop that takes over the durable jobs of the session's store whenever nobody coordinates
    them. The loop writes what happens to the member's log."""
    jobs = session.context.jobs
    assert jobs is not None
    return stand_bys.StandBy(
        jobs,
        begins=partial(logger.info, "the member stands by for the jobs of %s", jobs.address),
        ended=lambda status: logger.info("the job %s is %s", status.name, status.phase.value),
        failed=partial(logger.warning, "the jobs of %s: %s", jobs.address),
    )


def caretaker_of(running: RunningMember) -> "caretakers.Caretaker":
    """Return a new caretaker, which repairs the cluster's permanent tables after a change of the cluster; it
    works on the member ``running``, with a session of its own."""
    members = processes.ProcessMembers(running)
    session = sessions.Session(Config(), members)
    return caretakers.Caretaker(lambda: session.context, members.documents, everybodys=True)


def service(metrics: str = "", tracing: str = "", job_store: str = "") -> TableService:
    """Return the service of a new member; launchers call this function by its name. ``metrics``: the address
    ``host:port`` at which the member's process serves metrics, empty = no metrics. ``tracing``: ``on`` for
    spans of the parts of jobs that the member runs, empty = none. ``job_store``: the directory or URL of the
    store for whose durable jobs the member stands by, empty = none. Raises OperationalError if a library is
    missing or the port can't be opened, ProgrammingError for a malformed address."""
    if tracing:
        check_tracing()
    served = endpoints.MemberMetrics(metrics) if metrics else None
    return TableService(metrics=served, traced=bool(tracing), job_store=job_store)
