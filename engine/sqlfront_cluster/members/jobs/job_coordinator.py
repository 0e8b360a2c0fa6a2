"""A member as a coordinator of jobs: the jobs that were submitted to it, from the DAG to the last answer."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from sqlfront_cluster import codec
from sqlfront_cluster.members.jobs.coordination import Coordination
from sqlfront_cluster.members.jobs.job_participant import JobParticipant
from sqlfront_cluster.members.jobs.job_starts import init_message
from sqlfront_cluster.members.jobs.job_table import JobTable
from sqlfront_cluster.members.jobs.job_timers import JobTimers
from sqlfront_cluster.members.jobs.participation import NO_ROLES, Participation
from sqlfront_cluster.members.jobs.placements import Placements, participants
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import Completed, UnknownParts
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.dag import CLIENT, DAG
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.plans.execution_plan import ExecutionSite as Here
from sqlfront_engine.plans.placement import Placement, demands_of

#: Other members up to which the reader of an inline job reads the rows from the network itself: the reader
#: looks at each connection in turn, so that the time until a message is seen grows with their number.
MOST_ATTENDED: Final = 3


class CoordinatingMember(Protocol):
    """The attributes and methods of a :class:`~sqlfront_cluster.members.member.Member` that the coordination
    of jobs needs."""

    name: str
    by_reference: bool
    engine: Engine
    members: MemberList
    peers: dict[str, Peer]

    def attend(self, others: Sequence[str], done: Callable[[], bool]) -> bool:
        """Handle the messages of the members ``others`` on this thread until ``done()`` is true."""


class JobCoordinator:
    """The jobs that ``member`` coordinates. ``jobs``: all jobs of the member. ``participant``: the parts of
    jobs on the member. ``timers``: the periodic work for them. ``pump``: runs a part of an inline job on the
    thread that reads from the given peer."""

    def __init__(
        self,
        member: CoordinatingMember,
        jobs: JobTable,
        participant: JobParticipant,
        timers: JobTimers,
        pump: Callable[[Participation, Peer], None],
    ) -> None:
        self._member = member
        self._jobs = jobs
        self._participant = participant
        self._timers = timers
        self._pump = pump
        self._placements = Placements(member.name)
        # The jobs' fields, which never change.
        self._lock = jobs.lock
        self._coordinations = jobs.coordinations

    def needed(self, dag: DAG, config: JobConfig) -> tuple[str, ...]:
        """Return the names of the members that would run a part of a job of this DAG now. Locks the DAG: it
        can't be changed any more. Raises OperationalError if no member is left, or a member named by the DAG
        is missing."""
        dag.lock()
        return participants(dag, self._placement(self._member.members, dag, config))

    def _placement(self, members: MemberList, dag: DAG, config: JobConfig) -> Placement:
        return self._placements.of(members, dag.derive(demands_of, demands_of), config)

    def coordinate(
        self,
        number: int,
        dag: DAG,
        config: JobConfig,
        client: Peer | None = None,
        on_end: Callable[[Execution], None] | None = None,
    ) -> LightJob:
        """Run a DAG as a light job on the members that it needs, coordinated by this member. ``number``: the
        job's id, chosen by the caller and unique in the cluster. ``client``: has submitted the job, and has
        its result in its process; None = the result is here. ``on_end``: called with the execution of this
        member's part when the job has ended.

        Raises InterfaceError if the DAG is invalid or a job with this id runs here already, OperationalError
        if no member is left, or a member named by the DAG is missing; then no other member has heard of the
        job.
        """
        dag.lock()
        member = self._member
        name, engine, members = member.name, member.engine, member.members
        placement = self._placement(members, dag, config)
        others = tuple(each for each in participants(dag, placement) if each != name)
        init = None
        if others:
            # A DAG that can't run is refused before any other member hears of the job.
            engine.check_plan(dag, config, Here(name, placement))
            plan = codec.encode_dag(dag, ships_classes=not member.by_reference)
            init = init_message(number, members.version, plan, placement, config)
        execution = engine.execution(number, config, name)
        job = LightJob(execution)  # made now, so that the job is stopped if this thread is interrupted
        roles = _roles(client)
        coordination = Coordination(execution, name, others, member.peers, engine.call, roles)
        if config.inline and client is None and 0 < len(others) <= MOST_ATTENDED:
            execution.attend = partial(member.attend, others)
        with self._lock:
            self._jobs.reserve(number)
            self._coordinations[number] = coordination
        try:
            # The Init goes first, so that the others work while this member prepares its own part.
            if init is not None:
                coordination.begin(init)
            here = Here(name, placement)
            participation = self._participant.prepare(execution, dag, config, here, name, roles)
            with self._lock:
                self._jobs.register(participation)
                self._jobs.reserved.discard(number)
            participation.start(self._ended if on_end is None else partial(self._ended_for, on_end))
        except BaseException:  # such as a plan that is too large for a message
            self._participant.give_up(execution)
            raise
        participation.check_connected(member.peers)
        if client is not None and config.inline:
            with client.corked():  # a small result and the answer leave together
                self._pump(participation, client)
        self._timers.watch()
        return job

    def refuse(self, number: int, client: Peer) -> None:
        """Keep nothing for the job ``number`` of ``client``, which doesn't begin: the client may have refused
        rows before it hears of that."""
        self._participant.never_begun(number, client.name)

    def _ended(self, execution: Execution) -> None:
        with self._lock:
            self._jobs.forget(execution)
            self._jobs.forget_coordination(execution.id)

    def _ended_for(self, on_end: Callable[[Execution], None], execution: Execution) -> None:
        self._ended(execution)
        on_end(execution)

    # ---- messages of participants, and losses

    def completed(self, sender: str, message: Completed) -> None:
        """Take the answer of a participant."""
        coordination = self._coordinations.get(message.job)
        if coordination is not None:
            coordination.completed(sender, message)
            with self._lock:
                self._jobs.forget_coordination(message.job)

    def unknown_parts(self, peer: Peer, message: UnknownParts) -> None:
        """Send the Inits again that have not arrived at the participant ``peer``."""
        for number in message.jobs:
            coordination = self._coordinations.get(number)
            if coordination is not None:
                coordination.never_begun(peer)
                with self._lock:
                    self._jobs.forget_coordination(number)

    def lost(self, member: str) -> None:
        """Handle the loss of a member: the jobs here that need it fail, and those that it has submitted as a
        client are cancelled."""
        with self._lock:
            coordinations = self._coordinations.copy().items()
        leaving = self._member.members.is_leaving(member)
        for number, coordination in coordinations:
            coordination.lost(member, leaving=leaving)
            with self._lock:
                self._jobs.forget_coordination(number)


def _roles(client: Peer | None) -> Mapping[str, str]:
    """Return the names in the streams of a job's peers that have other names there."""
    return NO_ROLES if client is None else {client.name: CLIENT}
