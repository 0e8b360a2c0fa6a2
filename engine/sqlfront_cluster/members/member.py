"""A member of the cluster: takes part in light jobs, and coordinates the jobs submitted to it.

All code here reacts to a message, a timer or the submission of a job, and never waits. Messages of one peer
are handled in sequence, messages of different peers concurrently.

Possible races between messages, and their outcome:

* Data (or an InputClosed) that arrives before its job's Init is stored, and delivered when the Init arrives.
  It is dropped after ``NEVER_INITIALISED`` seconds without an Init, and after the loss of the sender.
* A message that arrives after the job's end here is recognised for ``ENDED_MEMORY`` seconds by the job's id;
  a later message counts as data before the Init. A successfully ended job gets no more data, since it ends
  only after all its streams. The job may still get an InputClosed for data sent by this member.
* A job may begin here after its coordinator has ended it (the Terminate overtook the Init, or got lost). The
  checker (:mod:`sqlfront_cluster.members.checker`) finds such jobs, and all other messages that got lost.
"""

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from sqlfront_cluster import codec
from sqlfront_cluster.codec.placements import decode_placement, encode_placement
from sqlfront_cluster.members.checker import CHECK_PERIOD, JobChecker, failed
from sqlfront_cluster.members.client_jobs import ClientJobs, PartEnded
from sqlfront_cluster.members.coordination import Coordination
from sqlfront_cluster.members.job_table import JobTable
from sqlfront_cluster.members.listing import LISTING_TIMEOUT, JobListing, Listings
from sqlfront_cluster.members.member_list import MemberList, topology_changed
from sqlfront_cluster.members.messages import (
    Acknowledge,
    Answer,
    CancelQuery,
    CheckJobs,
    CheckParts,
    CheckRequests,
    CheckStreams,
    Completed,
    Data,
    Ended,
    Init,
    InputClosed,
    JobList,
    ListJobs,
    Request,
    RequestsHandled,
    StreamsSent,
    Submit,
    Terminate,
    UnknownJobs,
    UnknownParts,
)
from sqlfront_cluster.members.participation import NO_ROLES, EarlyMessages, Participation
from sqlfront_cluster.members.placements import Placements
from sqlfront_cluster.members.requests import Requests
from sqlfront_cluster.members.submissions import Submissions
from sqlfront_cluster.members.wire import JobWire
from sqlfront_cluster.network.transport import Body, InvalidMessage, Peer, Transport
from sqlfront_engine.dag import CLIENT, COORDINATOR, DAG
from sqlfront_engine.edges.exchange import FLOW_CONTROL_PERIOD, ReceiverStatistics, SenderStatistics
from sqlfront_engine.engine import DEFAULT_CONFIG, Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus, JobSummary
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.plans.execution_plan import ExecutionSite as Here
from sqlfront_engine.plans.placement import AT_COORDINATOR, Placement, demands_of, vertex_members
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_values import room
from sqlfront_values.errors import Error, InterfaceError, InternalError, OperationalError
from sqlfront_values.settings import EMBEDDED

#: Other members up to which the reader of an inline job reads the rows from the network itself: the reader
#: looks at each connection in turn, so that the time until a message is seen grows with their number.
MOST_ATTENDED: Final = 3
#: Seconds between two checks for a peer's messages while the peer's thread runs a step: a message waits so
#: long at most, and each check costs a system call.
LISTENING_PERIOD: Final = 0.05
#: Bits of the random number from which each member counts its job ids: all members make ids, and two members'
#: ids must not meet. An int64 then has room for counting.
JOB_ID_BITS: Final = 62

logger = logging.getLogger(__name__)

#: Hears of the begin of a job's part: the job's trace context, its id and its coordinator; returns the
#: function that hears of the end.
WatchPart = Callable[[str, int, str], PartEnded]


class MemberStatistics(msgspec.Struct, frozen=True):
    """A snapshot of a member's state.

    ``peers``: the names of connected members. ``participations`` and ``coordinations``: the numbers of jobs
    that run here and that are coordinated here. ``early``: the number of jobs of which data has arrived
    before the message that starts them (Init). ``remembered``: the number of ended jobs whose late messages
    are still recognised. ``senders`` and ``receivers``: the state of the running jobs' streams, the data of
    an edge from one member to another. ``listings``: the number of listings of queries under way.
    ``requests``: the number of calls that wait for answers of other members.
    """

    peers: tuple[str, ...]
    participations: int
    coordinations: int
    early: int
    remembered: int
    senders: tuple[SenderStatistics, ...] = ()
    receivers: tuple[ReceiverStatistics, ...] = ()
    listings: int = 0
    requests: int = 0

    @property
    def idle(self) -> bool:
        """True if the member has no running job, no data of a job, no listing of queries under way, and waits
        for no answer."""
        return not (self.participations or self.coordinations or self.early or self.listings or self.requests)


class Member:
    """A member of a cluster: it takes part in light jobs, and coordinates the jobs submitted to it.

    ``resources``: objects by the keys under which processors of jobs on this member find them, such as the
    store of its shares of tables; a resource that is a service also answers the other members' requests.
    ``members``: the member list with which the member begins.
    """

    def __init__(
        self,
        engine: Engine,
        transport: Transport,
        members: MemberList,
        resources: Mapping[str, object] = NO_RESOURCES,
    ) -> None:
        self.engine = engine
        self.name = transport.name
        self.members = members
        self.peers: dict[str, Peer] = {}
        #: Called before each job; raises if no job may begin here now.
        self.check_usable: Callable[[], None] = _always_usable
        #: Called as a part of a job with a trace context begins here for another member; None = nobody
        #: watches.
        self.watch_part: WatchPart | None = None
        #: Whether this is a client without a place in the member list, which submits its jobs to members.
        self.observes = False
        #: The names of the clients without a place in the member list.
        self.clients: frozenset[str] = frozenset()
        #: The jobs that this client has submitted to members, and those that clients have submitted to this
        #: member.
        self.submissions, self.client_jobs = Submissions(self), ClientJobs(self)
        self._transport = transport
        self._placements = Placements(self.name)
        self._clock = engine.clock
        self._resources = resources
        jobs = self._jobs = JobTable()
        # The table's fields, which never change.
        self._lock = jobs.lock
        self._participations, self._coordinations = jobs.participations, jobs.coordinations
        self._early, self._ended, self._reserved = jobs.early, jobs.ended, jobs.reserved
        self._checker = JobChecker(
            self.name, jobs, self.peers, self._clock, self._pump, self._unknown_submission
        )
        self._checking = self._adapting = False
        self._listings = Listings(self, self._clock)
        #: This member's questions without a job, and its answers to others' questions.
        self.requests = Requests(self, transport, resources, engine.clock)
        engine.number_from(secrets.randbits(JOB_ID_BITS))
        transport.start(self)

    # ---- coordinating

    def submit(self, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        """Run a DAG as a light job on the members that it needs, coordinated by this member, or, if this is a
        client without a place in the member list, by another. Returns the job, whose result is read batch by
        batch while the job runs.

        Raises OperationalError if no member is left, or a member named by the DAG is missing.
        """
        if self.observes:
            return self.submissions.submit(dag, config)
        return self.coordinate(self.engine.next_number(), dag, config)

    def needed(self, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> tuple[str, ...]:
        """Return the names of the members that would run a part of a job of this DAG now. Locks the DAG: it
        can't be changed any more. Raises OperationalError if no member is left, or a member named by the DAG
        is missing."""
        dag.lock()
        demands = dag.derive(demands_of, demands_of)
        return participants(dag, self._placements.of(self.members, demands, config))

    def coordinate(self, number: int, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        """Run a DAG as a light job on the members that it needs, coordinated by this member. ``number``: the
        job's id, chosen by the caller and unique in the cluster. Raises InterfaceError if the DAG is invalid
        or a job with this id runs here already, OperationalError if no member is left, or a member named by
        the DAG is missing; then no other member has heard of the job."""
        self.check_usable()
        return self._coordinate(number, dag, config, None, self._coordinated_ended)

    def coordinate_for(
        self, client: Peer, number: int, dag: DAG, config: JobConfig, on_end: Callable[[Execution], None]
    ) -> None:
        """Run a DAG as a light job that ``client`` has submitted to this member, and that has its result in
        the client's process. ``on_end`` is called with the execution of this member's part when the job has
        ended. Raises like :meth:`coordinate`."""

        def ended(execution: Execution) -> None:
            self._coordinated_ended(execution)
            on_end(execution)

        self._coordinate(number, dag, config, client, ended)

    def _coordinate(
        self,
        number: int,
        dag: DAG,
        config: JobConfig,
        client: Peer | None,
        on_end: Callable[[Execution], None],
    ) -> LightJob:
        dag.lock()
        members = self.members
        placement = self._placements.of(members, dag.derive(demands_of, demands_of), config)
        others = tuple(name for name in participants(dag, placement) if name != self.name)
        init = None
        if others:
            # A DAG that can't run is refused before any other member hears of the job.
            self.engine.check_plan(dag, config, Here(self.name, placement))
            plan = codec.encode_dag(dag, ships_classes=not self._transport.by_reference)
            init = _init_call(number, members.version, plan, placement, config)
        execution = self.engine.execution(number, config, self.name)
        job = LightJob(execution)  # made now, so that the job is stopped if this thread is interrupted
        roles = NO_ROLES if client is None else {client.name: CLIENT}
        coordination = Coordination(execution, self.name, others, self.peers, self.engine.call, roles)
        if config.inline and client is None and 0 < len(others) <= MOST_ATTENDED:
            execution.attend = partial(self._attend, others)
        with self._lock:
            self._reserve(number)
            self._coordinations[number] = coordination
        try:
            # The Init goes first, so that the others work while this member prepares its own part.
            if init is not None:
                coordination.begin(init)
            participation = self._participate(
                execution, dag, config, Here(self.name, placement), self.name, roles
            )
            with self._lock:
                self._register(participation)
                self._reserved.discard(number)
            participation.start(on_end)
        except BaseException:  # such as a plan that is too large for a message
            self._give_up(execution)
            raise
        participation.check_connected(self.peers)
        if client is not None and config.inline:
            with client.corked():  # a small result and the answer leave together
                self._pump(participation, client)
        self._watch()
        return job

    # ---- submitting to another member

    def take_clients_part(
        self, execution: Execution, dag: DAG, config: JobConfig, coordinator: str
    ) -> Participation:
        """Make this client's part of a job that the member ``coordinator`` coordinates, and receive the job's
        messages from now on. Raises InterfaceError if the client's part of the DAG can't run."""
        with self._lock:
            self._reserve(execution.id)
        try:
            here = Here(CLIENT, AT_COORDINATOR)
            roles = {coordinator: COORDINATOR}
            participation = self._participate(execution, dag, config, here, coordinator, roles)
            with self._lock:
                self._register(participation)
            return participation
        finally:
            with self._lock:
                self._reserved.discard(execution.id)

    def start_clients_part(self, participation: Participation, on_end: Callable[[], None]) -> None:
        """Start this client's part of a job; ``on_end`` is called when the part has ended."""

        def ended(execution: Execution) -> None:
            with self._lock:
                self._forget(execution)
            on_end()

        try:
            participation.start(ended)
        except BaseException:
            self._give_up(participation.execution)
            on_end()
            raise
        participation.check_connected(self.peers)
        self._watch()

    def attend_to(self, name: str, done: Callable[[], bool]) -> bool:
        """Handle the messages of the member ``name`` on the calling thread until ``done()`` is true; the
        result is that of :meth:`~sqlfront_cluster.network.transport.Transport.attend`."""
        return self._attend((name,), done)

    def _attend(self, others: Sequence[str], done: Callable[[], bool]) -> bool:
        """Handle the messages of the members ``others`` on the calling thread until ``done()`` is true; the
        result is that of :meth:`~sqlfront_cluster.network.transport.Transport.attend`."""
        peers = [peer for name in others if (peer := self.peers.get(name)) is not None]
        return self._transport.attend(peers, done)

    def _give_up(self, execution: Execution) -> None:
        """Stop a job whose part on this member can't be started. Other members may have begun their parts;
        they are made to stop, too."""
        execution.stop(JobStatus.CANCELLED)
        self._never_begun(execution.id, self.name)
        with self._lock:
            self._reserved.discard(execution.id)
            self._participations.pop(execution.id, None)
            self._coordinations.pop(execution.id, None)

    def _coordinated_ended(self, execution: Execution) -> None:
        with self._lock:
            self._forget(execution)
            self._forget_coordination(execution.id)

    def _forget_coordination(self, number: int) -> None:
        """With the lock held: forget the coordination of job ``number`` if all participants have answered and
        no part of the job runs here; a job that has failed here may still wait for answers."""
        coordination = self._coordinations.get(number)
        if coordination is not None and coordination.over and not self._jobs.has_part(number):
            del self._coordinations[number]

    # ---- the queries of all members

    def jobs(self) -> tuple[JobSummary, ...]:
        """Return the running queries that were submitted to this member, on whatever members they run."""
        executions = self.engine.executions()
        with self._lock:
            coordinations = self._coordinations.copy().items()
        coordinated = {number: each.participants for number, each in coordinations}
        return tuple(
            self.engine.summary(execution, self.name, coordinated.get(execution.id, (self.name,)))
            for execution in executions
            if execution.id in coordinated or execution.member == EMBEDDED
        )

    def list_jobs(self, done: Callable[[JobListing], None], timeout: float = LISTING_TIMEOUT) -> None:
        """Ask all members for their queries. ``done`` is called once, on any thread and within ``timeout``
        seconds, with the queries and the names of members without an answer."""
        self._listings.begin(done, timeout)

    def cancel(self, query: int, coordinator: str, by: str = "") -> None:
        """Cancel the query with the id ``query``, whose coordinator is the member ``coordinator`` (possibly
        this member). Without a connection to the coordinator, all connected members are asked to forward the
        request. Does nothing if the query has ended. ``by``: who cancels, for the error's text."""
        if coordinator == self.name:
            self.engine.cancel(query, by)
            return
        peer = self.peers.get(coordinator)
        for each in tuple(self.peers.values()) if peer is None else (peer,):
            each.send(CancelQuery(query, coordinator, by))

    def _cancel(self, message: CancelQuery) -> None:
        peer = self.peers.get(message.coordinator)
        if message.coordinator == self.name:
            self.engine.cancel(message.query, message.by)
        elif peer is not None:
            peer.send(message)

    # ---- taking part

    def _participate(
        self,
        execution: Execution,
        dag: DAG,
        config: JobConfig,
        here: Here,
        coordinator: str,
        roles: Mapping[str, str] = NO_ROLES,
    ) -> Participation:
        peers = dict(self.peers)
        peers.update((role, peers[name]) for name, role in roles.items() if name in peers)
        wire = JobWire(execution.id, peers, by_reference=self._transport.by_reference)
        resources = _Chain(config.resources, self._resources) if config.resources else self._resources
        config = replace(config, resources=resources)
        return Participation(
            self.engine, execution, dag, config, replace(here, wire=wire), wire, coordinator, roles
        )

    def _register(self, participation: Participation) -> None:
        """With the lock held: deliver the job's messages to ``participation`` from now on, first those that
        came before the Init."""
        number = participation.execution.id
        self._participations[number] = participation
        early = self._early.pop(number, None)
        for sender, message, body in early.messages if early is not None else ():
            participation.hear(sender, message, body)

    def _reserve(self, number: int) -> None:
        """With the lock held: record that the part of job ``number`` on this member is being prepared. Raises
        InterfaceError if a part of a job with this id runs here or is being prepared."""
        if self._jobs.has_part(number):
            raise InterfaceError(f"there is a job {number} already")
        self._reserved.add(number)

    def _never_begun(self, number: int, coordinator: str, answer: Completed | None = None) -> None:
        """Drop all data of job ``number``, which never begins here: the data that has come, and later data as
        long as ended jobs are remembered. ``answer``: the answer to the Init."""
        with self._lock:
            self._early.pop(number, None)
            self._ended.add(number, self._clock.now(), coordinator, answer)
        self._watch()

    def watch(self, trace: str, job: int, coordinator: str) -> PartEnded:
        """Return the function that hears of the end of this member's part of the job ``job``, which
        ``coordinator`` has begun; it does nothing unless somebody watches, and the job has a trace context
        (``trace``)."""
        if self.watch_part is None or not trace:
            return _tell_nobody
        return self.watch_part(trace, job, coordinator)

    def _init(self, peer: Peer, message: Init) -> None:
        if message.again and self._checker.settles(peer, message):
            return
        tell = self.watch(message.trace, message.job, peer.name)
        try:
            participation = self._begin(peer, message)
        except Error as error:
            tell(JobStatus.FAILED, error)
            peer.send(failed(message.job, error))
            return
        participation.start(lambda execution: self._participation_ended(peer, message, execution, tell))
        participation.check_connected(self.peers)
        if participation.inline:
            with peer.corked():  # a small result and the answer leave together
                self._pump(participation, peer)
        self._watch()

    def _begin(self, peer: Peer, message: Init) -> Participation:
        with self._lock:
            self._reserve(message.job)
        try:
            if not self.members.accepts(message.list_version):
                raise topology_changed(message.list_version, self.members.version)
            if self.observes or self.members.is_client(self.name):
                raise OperationalError(f"{self.name} is a client and runs no jobs of other members")
            placement = decode_placement(message.placement)
            if self.name not in placement.participants:
                raise InternalError(f"member {self.name} isn't among the job's participants")
            config = JobConfig(
                settings=message.settings,
                memory_limit=message.memory_limit,
                inline=message.inline,
                parallelism=message.parallelism,
                partition_count=message.partition_count,
                statistics=message.statistics,
            )
            execution = self.engine.execution(message.job, config, self.name)
            dag = codec.decode_dag(message.dag, self.engine.allowed_code(f"member {self.name}"))
            here = Here(self.name, placement)
            participation = self._participate(execution, dag, config, here, peer.name)
            with self._lock:
                self._register(participation)
            return participation
        except Error as error:
            self._never_begun(message.job, peer.name, failed(message.job, error))
            raise
        finally:
            with self._lock:
                self._reserved.discard(message.job)

    def _participation_ended(self, peer: Peer, message: Init, execution: Execution, tell: PartEnded) -> None:
        record = None if execution.error is None else codec.ErrorData.of(execution.error)
        tasklets = execution.statistics().tasklets if message.statistics else ()
        answer = Completed(message.job, execution.status, record, tasklets)
        with self._lock:
            self._forget(execution, answer)
        tell(execution.status, execution.error)
        peer.send(answer)

    def _forget(self, execution: Execution, answer: Completed | None = None) -> None:
        """With the lock held: remove a job that has ended here. It is remembered for later messages if
        another member coordinates the job (which may ask for the ``answer`` again), if the job didn't
        complete, or if it sent data from here (a receiver may refuse data, or lack it)."""
        participation = self._participations.pop(execution.id, None)
        if participation is None:
            self._ended.add(execution.id, self._clock.now())
        elif participation.sends or answer is not None or execution.status is not JobStatus.COMPLETED:
            self._ended.add(
                execution.id,
                self._clock.now(),
                participation.coordinator,
                answer,
                participation.sent,
                participation.roles,
            )

    def _hear(self, peer: Peer, message: Data | InputClosed | Acknowledge, body: Body) -> None:
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
                early = self._early.get(message.job)
                if early is None:
                    early = self._early[message.job] = EarlyMessages(self._clock.now(), [])
                early.messages.append((peer.name, message, body))
        if participation is None:
            self._watch()
            return
        participation.hear(peer.name, message, body)
        self._pump(participation, peer)

    def _pump(self, participation: Participation, peer: Peer) -> None:
        """Run the part of an inline job (one that runs on the threads that bring its messages) a little
        further; a large job is left to a worker thread. Does nothing if the job isn't inline, or if this
        member coordinates it, since then the reader of the result runs it. In long steps, messages of
        ``peer`` are handled, too, such as the refusal of further data."""
        if not participation.inline or participation.is_read_here:
            return
        # Hand over to a worker: this thread is in another step, or has done its share.
        if room.meanwhile() is not None or not self._pump_listening(participation, peer):
            self.engine.call(partial(self._pump_on_worker, participation))

    def _pump_listening(self, participation: Participation, peer: Peer) -> bool:
        """Run the part of an inline job on the thread that reads from ``peer``, and handle the peer's
        messages from time to time. The result is that of
        :meth:`~sqlfront_engine.jobs.execution.Execution.pump`."""
        due = self._clock.now() + LISTENING_PERIOD

        def listen() -> None:
            nonlocal due
            if self._clock.now() >= due:
                if not peer.listen():
                    self._lose(peer)
                due = self._clock.now() + LISTENING_PERIOD

        room.set_meanwhile(listen)
        try:
            return participation.execution.pump()
        finally:
            room.set_meanwhile(None)

    def _pump_on_worker(self, participation: Participation) -> None:
        """Run the part of an inline job for a limited time on a worker thread; if the part isn't done then,
        queue the rest, so that other jobs are served between."""
        if not participation.execution.pump():
            self.engine.call(partial(self._pump_on_worker, participation))

    def _unknown_submission(self, coordinator: str, number: int) -> None:
        self.submissions.unknown(coordinator, number)

    def _send_again(self, peer: Peer, message: UnknownParts) -> None:
        for number in message.jobs:
            coordination = self._coordinations.get(number)
            if coordination is not None:
                coordination.never_begun(peer)
                with self._lock:
                    self._forget_coordination(number)

    def _terminate(self, peer: Peer, message: Terminate) -> None:
        with self._lock:
            participation = self._participations.get(message.job)
            if participation is None and self._early.pop(message.job, None) is not None:
                self._ended.add(message.job, self._clock.now(), peer.name)
        if participation is not None and participation.belongs_to(peer.name):
            participation.execution.stop(JobStatus.CANCELLED)

    # ---- the transport's calls

    def connected(self, peer: Peer) -> None:
        """Record the connection to a member."""
        self.peers[peer.name] = peer

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Handle the loss of the connection to a member, and of all messages in transit."""
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]
        with self._lock:
            coordinations = self._coordinations.copy().items()
            self._drop_early(peer.name)
            self._ended.forget_coordinator(peer.name)
        for number, coordination in coordinations:
            coordination.lost(peer.name)
            with self._lock:
                self._forget_coordination(number)
        self._lose(peer)
        self._listings.lost(peer.name)
        self.requests.lost(peer.name)

    def _lose(self, peer: Peer) -> None:
        """Fail the jobs here that need ``peer``: jobs that it coordinates, and jobs for which it was still
        sending data."""
        with self._lock:
            participations = list(self._participations.values())
        for participation in participations:
            participation.lost(peer.name)

    def _drop_early(self, sender: str) -> None:
        """With the lock held: drop the data that ``sender`` has sent for jobs without an Init. If such a job
        ever begins, it fails."""
        for number, early in self._early.copy().items():
            early.messages = [each for each in early.messages if each[0] != sender]
            if not early.messages:
                del self._early[number]
                self._ended.add(number, self._clock.now())

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of a peer; :mod:`sqlfront_cluster.members.messages` has all messages and their
        meaning."""
        match message:
            case Answer():
                self.requests.answered(peer.name, message, body)
            case Request():
                self.requests.asked(peer, message, body)
            case CheckRequests():
                peer.send(RequestsHandled(message.requests))
            case RequestsHandled():
                self.requests.handled(peer.name, message)
            case Init():
                self._init(peer, message)
            case Data() | InputClosed() | Acknowledge():
                self._hear(peer, message, body)
            case Completed():
                coordination = self._coordinations.get(message.job)
                if coordination is not None:
                    coordination.completed(peer.name, message)
                    with self._lock:
                        self._forget_coordination(message.job)
            case Terminate():
                self._terminate(peer, message)
            case CheckJobs():
                self._checker.asked_by_participant(peer, message)
            case Submit():
                self.client_jobs.submitted(peer, message)
            case Ended():
                self.submissions.ended(peer.name, message)
            case UnknownJobs():
                self._checker.unknown(peer.name, message)
            case CheckParts():
                self._checker.asked_by_coordinator(peer, message)
            case UnknownParts():
                self._send_again(peer, message)
            case CheckStreams():
                self._checker.asked_by_receiver(peer, message)
            case StreamsSent():
                self._checker.told_by_sender(peer, message)
            case ListJobs():
                self._listings.asked(peer, message)
            case JobList():
                self._listings.answered(peer.name, message)
            case CancelQuery():
                self._cancel(message)
            case _:
                logger.warning("%s sent %s, which nobody takes", peer.name, type(message).__name__)

    # ---- time

    def _watch(self) -> None:
        """Schedule the next periodic checks (of jobs, of the flow control of streams) if there is anything to
        check."""
        with self._lock:
            check = not self._checking and not self._jobs.is_empty
            adapt = not self._adapting and any(
                each.has_streams for each in list(self._participations.values())
            )
            self._checking |= check
            self._adapting |= adapt
        if check:
            self._clock.call_at(self._clock.now() + CHECK_PERIOD, self._check)
        if adapt:
            self._clock.call_at(self._clock.now() + FLOW_CONTROL_PERIOD, self._adapt)

    def _adapt(self) -> None:
        with self._lock:
            self._adapting = False
            participations = list(self._participations.values())
        for participation in participations:
            participation.adapt(self._clock.now())
        self._watch()

    def _check(self) -> None:
        with self._lock:
            self._checking = False
        self._checker.check()
        self._watch()

    # ---- statistics, and the end

    def statistics(self) -> MemberStatistics:
        """Return the current state of the member."""
        with self._lock:
            participations = list(self._participations.values())
            counts = len(self._coordinations), len(self._early), len(self._ended)
        streams = [participation.streams() for participation in participations]
        return MemberStatistics(
            tuple(sorted(self.peers)),
            len(participations),
            *counts,
            tuple(chain.from_iterable(senders for senders, _ in streams)),
            tuple(chain.from_iterable(receivers for _, receivers in streams)),
            len(self._listings),
            len(self.requests),
        )

    def abandon(self, error: Error) -> None:
        """End every job that runs or is coordinated here, and every wait for answers, with ``error``."""
        with self._lock:
            participations = list(self._participations.values())
        for each in participations:
            each.execution.fail(error)
        self.requests.abandon(error)

    def close(self) -> None:
        """Cancel all jobs here and close the connections. The other members see this member as lost, since it
        doesn't leave in an orderly way."""
        self.engine.close()
        self.requests.cancel()
        self._transport.close()

    def cancel_all(self) -> None:
        """Cancel all jobs and requests of this member, which stays a member; the coordinator and the
        participants of the jobs are notified."""
        self.engine.cancel_all()
        self.requests.cancel()


def _tell_nobody(status: JobStatus, error: Error | None) -> None:
    """Do nothing; the callback at the end of a part of a job for which nobody waits."""


def _always_usable() -> None:
    """Accept every job; the check before a job on a member that has no keeper."""


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


def _init_call(number: int, version: int, dag: bytes, placement: Placement, config: JobConfig) -> Init:
    """Return the Init message of job ``number`` for all participants except the coordinator. ``version``: the
    version of the member list with which ``placement`` was made. ``dag``: the encoded DAG."""
    return Init(
        number,
        version,
        dag,
        encode_placement(placement),
        config.settings,
        config.partition_count,
        config.parallelism,
        config.memory_limit,
        config.inline,
        config.statistics,
        "" if config.query is None else config.query.trace(),
    )


def participants(dag: DAG, placement: Placement) -> tuple[str, ...]:
    """Return the names of the members that run at least one vertex of the DAG; the answer is cached with the
    DAG. ``placement``: the members that the job may use, and their partitions."""
    return dag.derive(("participants", placement), lambda dag: _participants(dag, placement))


def _participants(dag: DAG, placement: Placement) -> tuple[str, ...]:
    used = {name for names in vertex_members(dag, placement).values() for name in names}
    return tuple(name for name in placement.participants if name in used)
