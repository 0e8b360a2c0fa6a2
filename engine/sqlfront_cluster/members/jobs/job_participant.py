"""A member as a participant of jobs: the parts of jobs that run on it, from the Init to the answer."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Protocol

from msgspec.structs import replace

from sqlfront_cluster import codec
from sqlfront_cluster.codec.placements import decode_placement
from sqlfront_cluster.members.jobs.checker import failed
from sqlfront_cluster.members.jobs.job_starts import init_config
from sqlfront_cluster.members.jobs.job_table import JobTable
from sqlfront_cluster.members.jobs.job_timers import JobTimers
from sqlfront_cluster.members.jobs.participation import NO_ROLES, PartEnded, Participation
from sqlfront_cluster.members.jobs.wire import Flush, JobWire
from sqlfront_cluster.members.protocol.member_list import MemberList, topology_changed
from sqlfront_cluster.members.protocol.messages import (
    Acknowledge,
    Completed,
    Data,
    Init,
    InputClosed,
    Terminate,
)
from sqlfront_cluster.network.transport import Body, InvalidMessage, Peer, Transport
from sqlfront_engine.dag import CLIENT, COORDINATOR, DAG
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.plans.execution_plan import ExecutionSite as Here
from sqlfront_engine.plans.placement import AT_COORDINATOR
from sqlfront_values.errors import Error, InternalError, OperationalError


class ParticipatingMember(Protocol):
    """The attributes and methods of a :class:`~sqlfront_cluster.members.member.Member` that its parts of jobs
    need."""

    name: str
    engine: Engine
    members: MemberList
    peers: dict[str, Peer]
    observes: bool

    def watch(self, trace: str, job: int, coordinator: str) -> PartEnded:
        """Return the function that hears of the end of a job with this trace context."""


class JobParticipant:
    """The parts of jobs that run on ``member``. ``jobs``: the member's jobs. ``timers``: the periodic work
    for them. ``pump``: runs a part of an inline job on the thread that reads from the given peer.
    ``resources``: the member's objects for processors."""

    def __init__(
        self,
        member: ParticipatingMember,
        jobs: JobTable,
        timers: JobTimers,
        pump: Callable[[Participation, Peer], None],
        transport: Transport,
        resources: Mapping[str, object],
    ) -> None:
        self._member = member
        self._jobs = jobs
        self._timers = timers
        self._pump = pump
        self._transport = transport
        self._resources = resources
        # The jobs' fields, which never change.
        self._lock = jobs.lock
        self._participations, self._ended = jobs.participations, jobs.ended

    def prepare(
        self,
        execution: Execution,
        dag: DAG,
        config: JobConfig,
        here: Here,
        coordinator: str,
        roles: Mapping[str, str] = NO_ROLES,
    ) -> Participation:
        """Make this member's part of a job that ``coordinator`` coordinates; messages reach the part once it
        is registered. ``roles``: as in :class:`Participation`. Raises InterfaceError if the part can't
        run."""
        member = self._member
        peers = dict(member.peers)
        peers.update((role, peers[name]) for name, role in roles.items() if name in peers)
        # A small result and the answer are one message.
        holds_for = coordinator if config.inline else None
        by_reference = self._transport.by_reference
        wire = JobWire(execution.id, peers, by_reference=by_reference, holds_for=holds_for)
        resources = _Chain(config.resources, self._resources) if config.resources else self._resources
        config = replace(config, resources=resources)
        return Participation(
            member.engine, execution, dag, config, replace(here, wire=wire), wire, coordinator, roles
        )

    # ---- jobs that other members coordinate

    def begin(self, peer: Peer, message: Init) -> None:
        """Begin this member's part of a job that ``peer`` coordinates and whose id is reserved
        (:meth:`JobChecker.takes <sqlfront_cluster.members.jobs.checker.JobChecker.takes>`). If that is
        impossible, the coordinator gets the error as the answer."""
        tell = self._member.watch(message.trace, message.job, peer.name)
        try:
            participation = self._begin(peer, message)
        except Error as error:
            tell(JobStatus.FAILED, error)
            peer.send(failed(message.job, error))
            return
        flush = participation.flush
        participation.start(lambda execution: self._part_ended(peer, message, execution, tell, flush))
        participation.check_connected(self._member.peers)
        if participation.inline:
            with peer.corked():  # a small result and the answer leave together
                self._pump(participation, peer)
        self._timers.watch()

    def _begin(self, peer: Peer, message: Init) -> Participation:
        member = self._member
        try:
            if not member.members.accepts(message.list_version):
                raise topology_changed(message.list_version, member.members.version)
            if member.observes or member.members.is_client(member.name):
                raise OperationalError(f"{member.name} is a client and runs no jobs of other members")
            placement = decode_placement(message.placement)
            if member.name not in placement.participants:
                raise InternalError(f"member {member.name} isn't among the job's participants")
            config = init_config(message)
            execution = member.engine.execution(message.job, config, member.name)
            dag = codec.decode_dag(message.dag, member.engine.allowed_code(f"member {member.name}"))
            here = Here(member.name, placement)
            participation = self.prepare(execution, dag, config, here, peer.name)
            with self._lock:
                self._jobs.register(participation)
            return participation
        except Error as error:
            self.never_begun(message.job, peer.name, failed(message.job, error))
            raise
        finally:
            with self._lock:
                self._jobs.reserved.discard(message.job)

    def _part_ended(
        self, peer: Peer, message: Init, execution: Execution, tell: PartEnded, flush: Flush
    ) -> None:
        record = None if execution.error is None else codec.ErrorData.of(execution.error)
        tasklets = execution.statistics().tasklets if message.statistics else ()
        answer = Completed(message.job, execution.status, record, tasklets)
        with self._lock:
            self._jobs.forget(execution, answer)
        tell(execution.status, execution.error)
        plain = execution.status is JobStatus.COMPLETED and not message.statistics
        if not (flush(completes=plain) and plain):
            peer.send(answer)

    def never_begun(self, number: int, coordinator: str, answer: Completed | None = None) -> None:
        """Drop all data of ``coordinator``'s job ``number``, which never begins here: the data that has come,
        and later data as long as ended jobs are remembered. ``answer``: the answer to the Init."""
        with self._lock:
            self._jobs.never_begun(number, coordinator, answer)
        self._timers.watch()

    def give_up(self, execution: Execution) -> None:
        """Stop a job whose part on this member can't be started. Other members may have begun their parts;
        they are made to stop, too."""
        execution.stop(JobStatus.CANCELLED)
        self.never_begun(execution.id, self._member.name)
        with self._lock:
            self._jobs.give_up(execution.id)

    def terminate(self, peer: Peer, message: Terminate) -> None:
        """Stop a part of a job as its coordinator or its client says."""
        with self._lock:
            participation = self._participations.get(message.job)
            if participation is None and message.job in self._jobs.early:
                self._jobs.never_begun(message.job, peer.name)
        if participation is not None and participation.belongs_to(peer.name):
            if message.cancelled_by is not None:
                participation.execution.query.cancel(message.cancelled_by)
            participation.execution.stop(JobStatus.TIMED_OUT if message.timed_out else JobStatus.CANCELLED)

    # ---- jobs that this process submits as a client

    def take_clients_part(
        self, execution: Execution, dag: DAG, config: JobConfig, coordinator: str
    ) -> Participation:
        """Make this client's part of a job that the member ``coordinator`` coordinates, and receive the job's
        messages from now on. Raises InterfaceError if the client's part of the DAG can't run."""
        with self._lock:
            self._jobs.reserve(execution.id)
        try:
            here = Here(CLIENT, AT_COORDINATOR)
            roles = {coordinator: COORDINATOR}
            participation = self.prepare(execution, dag, config, here, coordinator, roles)
            with self._lock:
                self._jobs.register(participation)
            return participation
        finally:
            with self._lock:
                self._jobs.reserved.discard(execution.id)

    def start_clients_part(self, participation: Participation, on_end: Callable[[], None]) -> None:
        """Start this client's part of a job; ``on_end`` is called when the part has ended."""

        def ended(execution: Execution) -> None:
            with self._lock:
                self._jobs.forget(execution)
            on_end()

        try:
            participation.start(ended)
        except BaseException:
            self.give_up(participation.execution)
            on_end()
            raise
        participation.check_connected(self._member.peers)
        self._timers.watch()

    # ---- messages about streams, and losses

    def hear(self, peer: Peer, message: Data | InputClosed | Acknowledge, body: Body) -> None:
        """Deliver a message about a stream to the job's part here. If the job's Init hasn't come, Data and
        InputClosed are stored for it; an Acknowledge can't come before. Raises InvalidMessage for data
        without a batch."""
        if isinstance(message, Data) and body is None and not message.last:
            raise InvalidMessage("a malformed batch: it has no body")
        with self._lock:
            participation = self._participations.get(message.job)
            if (
                participation is None
                and message.job not in self._ended
                and not isinstance(message, Acknowledge)
            ):
                self._jobs.keep_early(peer.name, message, body)
        if participation is None:
            self._timers.watch()
            return
        participation.hear(peer.name, message, body)
        self._pump(participation, peer)

    def lost(self, member: str) -> None:
        """Fail the jobs here that need ``member``: jobs that it coordinates, and jobs for which it was still
        sending data."""
        with self._lock:
            participations = list(self._participations.values())
        leaving = self._member.members.is_leaving(member)
        for participation in participations:
            participation.lost(member, leaving=leaving)


class _Chain(Mapping[str, object]):
    """A read-only mapping that looks a key up in several mappings, in order: first in the job's own
    resources, then in its member's."""

    def __init__(self, *maps: Mapping[str, object]) -> None:
        self._maps = maps

    def __getitem__(self, key: str) -> object:
        for each in self._maps:
            if key in each:
                return each[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._maps)

    def __len__(self) -> int:
        return sum(map(len, self._maps))
