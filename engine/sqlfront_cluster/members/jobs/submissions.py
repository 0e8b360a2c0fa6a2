"""Jobs of a client without a place in the member list: the client's side.

The client plans a job, chooses a member, and sends it the DAG; the member coordinates the job. The client
runs the vertices that need its process: the result, and sources of the session's own rows.
:mod:`sqlfront_cluster.members.jobs.client_jobs` is the member's side.
"""

import itertools
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Protocol
from zlib import crc32

from sqlfront_cluster import codec
from sqlfront_cluster.members.jobs.client_dag import client_dag
from sqlfront_cluster.members.jobs.job_participant import JobParticipant
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import Ended, Submit, Terminate
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_values.errors import OperationalError


class SubmittingMember(Protocol):
    """The attributes and methods of a client's own :class:`~sqlfront_cluster.members.member.Member` that
    submissions need."""

    name: str
    engine: Engine
    members: MemberList
    peers: dict[str, Peer]
    check_usable: Callable[[], None]

    def attend(self, others: Sequence[str], done: Callable[[], bool]) -> bool:
        """Handle the messages of the members ``others`` on this thread until ``done()`` is true."""


class Submissions:
    """The jobs that a client, whose own member is ``member``, has submitted to members of the cluster.
    ``participant``: the parts of jobs in the client's process."""

    def __init__(self, member: SubmittingMember, participant: JobParticipant) -> None:
        self._member, self._participant = member, participant
        # Each client begins its rounds over the members elsewhere, as its name says, so that the single jobs
        # of many clients don't all go to the same member.
        self._turns = itertools.count(crc32(member.name.encode()))
        # The jobs of which the coordinator has not said that they have ended; changed by single operations.
        self._open: dict[int, tuple[str, Execution]] = {}

    def submit(self, dag: DAG, config: JobConfig) -> LightJob:
        """Submit a DAG to a member, and return the job, whose result this process reads. Locks the DAG.

        Raises OperationalError if this client isn't in touch with its cluster, or is connected to no member
        that can coordinate. An error of the member, for example that the cluster has changed (SQLSTATE
        40001), is raised where the result is read.
        """
        member = self._member
        member.check_usable()
        whole = client_dag(dag)
        peer = self._coordinator(config.required_partitions)
        number = member.engine.next_number()
        execution = member.engine.execution(number, config, member.name)
        job = LightJob(execution)  # made now, so that the job is stopped if this thread is interrupted
        message = self._message(execution, whole, config)
        execution.hold()  # for the coordinator's last message
        execution.on_stop = partial(member.engine.call, partial(_terminate, peer, execution))
        if config.inline:
            execution.attend = partial(member.attend, (peer.name,))
        participation = self._participant.take_clients_part(execution, whole, config, peer.name)
        self._open[number] = peer.name, execution
        peer.send(message)
        self._participant.start_clients_part(participation, partial(self._forget, number))
        return job

    def _forget(self, number: int) -> None:
        self._open.pop(number, None)

    def _coordinator(self, required: Collection[int] | None) -> Peer:
        """Return the connection to the member that is to coordinate a job: the owner of its first required
        partition, since the owner has rows of the job; without required partitions each member in turn."""
        members, peers = self._member.members, self._member.peers
        able = [name for name in members.data_members if name in peers]
        if required:
            owner = members.owners[min(required)] if min(required) < len(members.owners) else ""
            able = [owner] if owner in able else able
        if not able:
            raise OperationalError("no data member can be reached to run the job", sqlstate="08001")
        chosen = able[next(self._turns) % len(able)]
        try:
            return peers[chosen]
        except KeyError:  # lost in this moment
            raise OperationalError(f"member {chosen} was lost", sqlstate="08001") from None

    def _message(self, execution: Execution, dag: DAG, config: JobConfig) -> Submit:
        query = execution.query
        return Submit(
            execution.id,
            self._member.members.version,
            codec.encode_dag(dag, ships_classes=True),
            config.settings,
            config.partition_count,
            query.id,
            query.description,
            config.required_partitions,
            config.required_members,
            config.parallelism,
            query.memory_limit,
            config.timeout,
            self._member.engine.clock.now() - query.began,
            config.inline,
            config.statistics,
            query.trace(),
        )

    def ended(self, sender: str, message: Ended) -> None:
        """Handle the last message of the member ``sender`` about a job of this client. Does nothing if the
        job has ended here before, or another member coordinates it."""
        execution = self._close(sender, message.job)
        if execution is None:
            return
        execution.participants = (self._member.name, *message.participants)
        for name, tasklets in message.tasklets.items():
            execution.note(name, tasklets)
        self._take_outcome(execution, message)
        execution.release()

    def _take_outcome(self, execution: Execution, message: Ended) -> None:
        """Stop or fail the client's part of a job that was stopped or has failed at its coordinator."""
        if message.status in (JobStatus.CANCELLED, JobStatus.TIMED_OUT):
            if message.cancelled_by is not None:  # a query that was cancelled runs no later job, either
                execution.query.cancel(message.cancelled_by)
            execution.stop(message.status)
        elif message.error is not None:
            execution.fail(message.error.error())

    def unknown(self, sender: str, number: int) -> None:
        """Fail the job ``number``, which the member ``sender`` doesn't know, unless that member has said
        before that the job has ended: the rest of the result may still be read then."""
        execution = self._close(sender, number)
        if execution is not None:
            lost = f"member {sender}, which was to coordinate the query, doesn't know it"
            execution.fail(OperationalError(lost, sqlstate="08006"))

    def _close(self, sender: str, number: int) -> Execution | None:
        """Record that the coordinator ``sender`` has ended a job of this client, and return the job's
        execution. Return None if that was recorded before, or another member coordinates the job."""
        coordinator, execution = self._open.get(number, ("", None))
        if execution is None or coordinator != sender or self._open.pop(number, None) is None:
            return None
        execution.on_stop = None
        return execution


def _terminate(peer: Peer, execution: Execution) -> None:
    """Tell the coordinator ``peer`` that the client's job was stopped, and why."""
    query = execution.query
    by = query.cancelled_by if query.cancelled else None
    peer.send(Terminate(execution.id, execution.stopped_as is JobStatus.TIMED_OUT, by))
