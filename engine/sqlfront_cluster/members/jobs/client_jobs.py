"""Jobs of clients without a place in the member list: the side of the member that coordinates.

The client's disconnection cancels its jobs. The rows go to the client like rows between members: the member
sends as much as the client's receive window allows, so that a client that stops reading stops the job, whose
memory on the members stays bounded. :mod:`sqlfront_cluster.members.jobs.submissions` is the client's side.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

from sqlfront_cluster import codec
from sqlfront_cluster.members.jobs.job_coordinator import JobCoordinator
from sqlfront_cluster.members.jobs.job_starts import submit_config
from sqlfront_cluster.members.jobs.participation import PartEnded
from sqlfront_cluster.members.protocol.member_list import CHANGED, MemberList, topology_changed
from sqlfront_cluster.members.protocol.messages import Ended, Submit
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.engine import Engine
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import Error, OperationalError


class ServingMember(Protocol):
    """The attributes and methods of a :class:`~sqlfront_cluster.members.member.Member` that jobs of clients
    need."""

    name: str
    engine: Engine
    members: MemberList
    check_usable: Callable[[], None]

    def watch(self, trace: str, job: int, coordinator: str) -> PartEnded:
        """Return the function that hears of the end of a job with this trace context."""


class ClientJobs:
    """The jobs that ``member``, whose jobs the ``coordinator`` coordinates, runs for clients."""

    def __init__(self, member: ServingMember, coordinator: JobCoordinator) -> None:
        self._member, self._coordinator = member, coordinator
        # Changed by single operations.
        self._clients: dict[int, str] = {}

    def running(self) -> Counter[str]:
        """Return the number of running jobs of each client that has any."""
        return Counter(self._clients.copy().values())

    def submitted(self, client: Peer, message: Submit) -> None:
        """Begin the job that ``client`` has submitted. If that is impossible, the client gets the error as
        the job's end; SQLSTATE 40001 if it may submit the job again, perhaps to another member."""
        tell = self._member.watch(message.trace, message.job, client.name)
        try:
            self._begin(client, message, tell)
        except Error as error:
            tell(JobStatus.FAILED, error)
            self._coordinator.refuse(message.job, client)
            client.send(Ended(message.job, JobStatus.FAILED, codec.ErrorData.of(error)))

    def _begin(self, client: Peer, message: Submit, tell: PartEnded) -> None:
        member = self._member
        try:
            member.check_usable()
        except OperationalError as error:  # nothing has begun
            raise OperationalError(f"{error.message}; run the query again", sqlstate=CHANGED) from error
        if not member.members.accepts(message.list_version):
            raise topology_changed(message.list_version, member.members.version)
        if member.members.is_leaving(member.name):  # its own process is to be told yet
            raise OperationalError(f"member {member.name} is leaving; run the query again", sqlstate=CHANGED)
        if member.name not in member.members.owners and member.name not in member.members.data_members:
            raise OperationalError(f"{member.name} is a client and runs no jobs of others")
        dag = codec.decode_dag(message.dag, member.engine.allowed_code(f"member {member.name}"))
        query = member.engine.begin_query(message.memory_limit, message.text, message.query)
        query.trace = lambda: message.trace
        query.began -= max(0.0, message.elapsed)
        config = submit_config(message, query)
        self._clients[message.job] = client.name
        try:
            self._coordinator.coordinate(
                message.job, dag, config, client, partial(self._ended, client, message, tell)
            )
        except BaseException:
            self._clients.pop(message.job, None)
            raise

    def _ended(self, client: Peer, message: Submit, tell: PartEnded, execution: Execution) -> None:
        self._clients.pop(message.job, None)
        error = execution.failure()
        tell(execution.status, error)
        record = None if error is None else codec.ErrorData.of(error)
        tasklets = {}
        if message.statistics:
            counted = execution.statistics()
            tasklets = {self._member.name: counted.tasklets, **counted.others}
        by = execution.query.cancelled_by if execution.query.cancelled else None
        client.send(Ended(message.job, execution.status, record, by, execution.participants, tasklets))
