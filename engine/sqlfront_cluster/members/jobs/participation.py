"""The part of a light job that runs on one member, with the streams to and from other members."""

from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import Final, assert_never

import msgspec

from sqlfront_cluster.members.jobs.wire import JobWire, parcel
from sqlfront_cluster.members.protocol.member_list import member_left, member_lost
from sqlfront_cluster.members.protocol.messages import Acknowledge, Data, InputClosed, StreamState
from sqlfront_cluster.network.transport import Body
from sqlfront_engine.dag import CLIENT, COORDINATOR, DAG
from sqlfront_engine.edges.exchange import (
    EdgeStream,
    ReceiverStatistics,
    RemoteInput,
    RemoteOutput,
    SenderStatistics,
)
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.plans.execution_plan import ExecutionSite as Here
from sqlfront_values.errors import Error, OperationalError

#: Hears of the end of a job's part: its status, and its error, if any.
PartEnded = Callable[[JobStatus, Error | None], None]
#: The roles of the peers of a job between members.
NO_ROLES: Final[Mapping[str, str]] = MappingProxyType({})


class EarlyMessages(msgspec.Struct):
    """The messages of a job that arrived before the message that starts the job (Init). ``since``: the time
    of the first message (s, the clock's). ``messages``: for each message the sender, the message and its
    body."""

    since: float
    messages: list[tuple[str, Data | InputClosed, Body]]


class Participation:
    """One light job's part on this member: the execution of its tasklets, and the ends of its streams, the
    data of edges from one member to another. ``here``: this member, the job's placement, and the connection
    to the other participants, which is the JobWire ``wire``. ``coordinator``: the name of the member that
    coordinates the job. ``roles``: the names that the streams have for a peer instead of the peer's own, such
    as :data:`~sqlfront_engine.dag.CLIENT`."""

    def __init__(
        self,
        engine: Engine,
        execution: Execution,
        dag: DAG,
        config: JobConfig,
        here: Here,
        wire: JobWire,
        coordinator: str,
        roles: Mapping[str, str] = NO_ROLES,
    ) -> None:
        self.execution = execution
        self.coordinator = coordinator
        #: The start, in seconds of the engine's clock.
        self.since = engine.clock.now()
        self.inline = config.inline
        self.roles = roles
        #: Whether the reader of the job's result is in this process, and runs an inline job.
        self.is_read_here = here.name in (coordinator, CLIENT) and CLIENT not in roles.values()
        self._engine = engine
        self._config = config
        self._wire = wire
        #: :meth:`JobWire.flush`, which doesn't keep this object alive.
        self.flush = wire.flush
        self._plan = engine.plan(dag, execution, config, here)
        self._inputs: Mapping[EdgeStream, RemoteInput] = self._plan.inputs
        self._outputs: Mapping[EdgeStream, RemoteOutput] = self._plan.outputs
        # By stream from another member, the number of its Data messages that have arrived.
        self._arrived: dict[EdgeStream, int] = {}
        execution.hold(len(self._inputs))

    def start(self, on_end: Callable[[Execution], None]) -> None:
        """Start the tasklets of this part of the job; ``on_end`` is called with the execution when it has
        ended."""
        self._engine.start(self.execution, self._plan, self._config, on_end)

    def check_connected(self, peers: Container[str]) -> None:
        """Fail the job if it has a stream to or from a member that is not connected. ``peers``: the names of
        the connected members."""
        present = {role for name, role in self.roles.items() if name in peers}
        for stream in (*self._inputs, *self._outputs):
            if stream.member not in peers and stream.member not in present:
                self.execution.fail(member_lost(stream.member))

    @property
    def submitted(self) -> bool:
        """True if this process is the client that has submitted the job to another member."""
        return COORDINATOR in self.roles.values()

    def belongs_to(self, name: str) -> bool:
        """Return whether ``name`` coordinates the job or is its client, and so may stop it."""
        return name == self.coordinator or name in self.roles

    def asked_for(self, own: str) -> str | None:
        """Return the name of the member that is asked from time to time whether the job still goes on: its
        coordinator, or on the coordinator (whose name is ``own``) its client; None = nobody."""
        return self.coordinator if self.coordinator != own else next(iter(self.roles), None)

    # ---- messages of the other members

    def hear(self, sender: str, message: Data | InputClosed | Acknowledge, body: Body) -> None:
        """Handle a message of the member ``sender`` about a stream of the job; does nothing if this part has
        no such stream."""
        sender = self.roles.get(sender, sender)
        match message:
            case Data():
                self._data(sender, message, body)
            case InputClosed():
                self._input_closed(sender, message)
            case Acknowledge():
                self._acknowledged(sender, message)
            case _:
                assert_never(message)

    def _data(self, sender: str, message: Data, body: Body) -> None:
        """Pass a batch, or the end of the stream, to the stream from ``sender``. If a message before this one
        is missing, fail the job instead: none of the later rows are given to the consumer."""
        name = EdgeStream(message.edge, sender)
        stream = self._inputs.get(name)
        if stream is None or stream.finished:
            return
        expected = self._arrived.get(name, 0)
        if message.number != expected:
            self.execution.fail(rows_lost(sender))
            return
        self._arrived[name] = expected + 1
        stream.arrived(parcel(message, body))
        if message.last:
            self.execution.release()

    def _acknowledged(self, sender: str, message: Acknowledge) -> None:
        """Set a new limit for the bytes that may be sent on the stream to ``sender``, its receiver."""
        output = self._outputs.get(EdgeStream(message.edge, sender))
        if output is not None:
            output.allow(message.limit)

    def _input_closed(self, sender: str, message: InputClosed) -> None:
        """Stop the stream to ``sender``, its receiver, which needs no more batches."""
        output = self._outputs.get(EdgeStream(message.edge, sender))
        if output is not None:
            output.close()

    def lost(self, member: str, *, leaving: bool = False) -> None:
        """Handle the loss of a member, or the end of a ``leaving`` one: the job fails if that member
        coordinates the job or still had data to send to this part of it, unless the job was stopped
        before."""
        name = self.roles.get(member, member)
        waiting = any(
            stream.member == name and not remote.finished for stream, remote in self._inputs.items()
        )
        if (waiting or member == self.coordinator) and self.execution.failure() is None:
            self.execution.fail(member_left(member) if leaving else member_lost(member))

    # ---- the checker's questions

    @property
    def sent(self) -> Mapping[EdgeStream, int]:
        """The number of Data messages sent so far, by stream to another member."""
        return self._wire.sent

    def sent_to(self, peer: str, edge: int) -> int:
        """Return the number of Data messages sent so far to ``peer`` for an edge."""
        return self._wire.sent.get(EdgeStream(edge, self.roles.get(peer, peer)), 0)

    def incoming(self) -> dict[str, tuple[StreamState, ...]]:
        """Return the state of the streams from other members that have not ended, by sender."""
        states: dict[str, tuple[StreamState, ...]] = {}
        names = {role: name for name, role in self.roles.items()}
        for stream, remote in self._inputs.items():
            if not remote.finished:
                state = StreamState(
                    stream.edge,
                    self._arrived.get(stream, 0),
                    self._wire.limits.get(stream, 0),
                    stream in self._wire.closed,
                )
                sender = names.get(stream.member, stream.member)
                states[sender] = (*states.get(sender, ()), state)
        return states

    def told(self, receiver: str, states: Sequence[StreamState]) -> None:
        """Take the limits and refusals that ``receiver`` has sent before; the messages may have got lost."""
        name = self.roles.get(receiver, receiver)
        for state in states:
            output = self._outputs.get(EdgeStream(state.edge, name))
            if output is not None and state.limit:
                output.allow(state.limit)
            if output is not None and state.closed:
                output.close()

    def check_arrived(self, sender: str, counts: Sequence[tuple[int, int]] | None) -> None:
        """Fail the job if it lacks rows of ``sender``. ``counts``: edges and the Data messages that were sent
        for them before this message; None: the sender, which has ended, doesn't know any more."""
        sent = None if counts is None else dict(counts)
        for stream, remote in self._inputs.items():
            if stream.member != self.roles.get(sender, sender) or remote.finished:
                continue
            if sent is None or sent.get(stream.edge, 0) > self._arrived.get(stream, 0):
                self.execution.fail(rows_lost(sender))

    # ---- statistics, and time

    def streams(self) -> tuple[tuple[SenderStatistics, ...], tuple[ReceiverStatistics, ...]]:
        """Return the statistics of the ends of the job's streams on this member: first of the streams to
        other members, then of those from other members."""
        senders = tuple(output.statistics() for output in self._outputs.values())
        return senders, tuple(remote.statistics() for remote in self._inputs.values())

    @property
    def sends(self) -> bool:
        """True if this part of the job has streams to other members."""
        return bool(self._outputs)

    @property
    def has_streams(self) -> bool:
        """True if other members still have data to send to this part of the job."""
        return any(not remote.finished for remote in self._inputs.values())

    def adapt(self, now: float) -> None:
        """Adapt, for all streams from other members, the number of bytes that the sender may send ahead (the
        receive window); to be called once per flow-control period. ``now``: the clock's time (s)."""
        for remote in self._inputs.values():
            remote.adapt(now)


def rows_lost(member: str) -> OperationalError:
    """Return the error (SQLSTATE 08006) of a job for which ``member`` has sent rows that have not arrived,
    although the connection holds."""
    return OperationalError(f"rows of member {member} were lost on the way to the query", sqlstate="08006")
