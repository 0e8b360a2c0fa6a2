"""The part of a light job that runs on this member."""

from collections.abc import Callable, Container, Mapping
from typing import assert_never

import msgspec

from sqlfront_cluster.members.messages import Acknowledge, Data, InputClosed
from sqlfront_cluster.members.wire import parcel
from sqlfront_cluster.network.transport import Body
from sqlfront_engine.dag import DAG
from sqlfront_engine.edges.exchange import (
    EdgeStream,
    ReceiverStatistics,
    RemoteInput,
    RemoteOutput,
    SenderStatistics,
)
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.plans.execution_plan import ExecutionSite as Here
from sqlfront_values.errors import OperationalError


class EarlyMessages(msgspec.Struct):
    """The messages before their job's Init: the time of the first (seconds), and the messages with their
    senders."""

    since: float
    messages: list[tuple[str, Data | InputClosed, Body]]


class Participation:
    """A job's execution on this member, with its ends of distributed edges."""

    def __init__(
        self,
        engine: Engine,
        execution: Execution,
        dag: DAG,
        config: JobConfig,
        here: Here,
        coordinator: str,
    ) -> None:
        self.execution = execution
        self.coordinator = coordinator
        #: The start, in seconds of the engine's clock.
        self.since = engine.clock.now()
        self.inline = config.inline
        self._engine = engine
        self._config = config
        self._plan = engine.plan(dag, execution, config, here)
        self._inputs: Mapping[EdgeStream, RemoteInput] = self._plan.inputs
        self._outputs: Mapping[EdgeStream, RemoteOutput] = self._plan.outputs
        execution.hold(len(self._inputs))

    def start(self, on_end: Callable[[Execution], None]) -> None:
        """Start the tasklets of the job's part here; ``on_end`` is called when the execution has ended."""
        self._engine.start(self.execution, self._plan, self._config, on_end)

    def check_connected(self, peers: Container[str]) -> None:
        """Fail the job if a member that sends or receives one of its streams is not among ``peers``, the
        connected members."""
        for stream in (*self._inputs, *self._outputs):
            if stream.member not in peers:
                self.execution.fail(member_lost(stream.member))

    # ---- messages of the other members

    def hear(self, sender: str, message: Data | InputClosed | Acknowledge, body: Body) -> None:
        """Handle a message of the member ``sender`` about a stream of the job; ignored if there is no such
        stream here."""
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
        """Take a batch of a stream, or the end of the stream."""
        stream = self._inputs.get(EdgeStream(message.edge, sender))
        if stream is not None and not stream.finished:
            stream.arrived(parcel(message, body))
            if message.last:
                self.execution.release()

    def _acknowledged(self, sender: str, message: Acknowledge) -> None:
        """Take a receiver's new limit on the bytes sent to it."""
        output = self._outputs.get(EdgeStream(message.edge, sender))
        if output is not None:
            output.allow(message.limit)

    def _input_closed(self, sender: str, message: InputClosed) -> None:
        """Record that the receiver of a stream wants no more batches."""
        output = self._outputs.get(EdgeStream(message.edge, sender))
        if output is not None:
            output.close()

    def lost(self, member: str) -> None:
        """Record the loss of a member. The job fails if the member coordinates it or still had data to
        send."""
        waiting = any(
            stream.member == member and not remote.finished for stream, remote in self._inputs.items()
        )
        if waiting or member == self.coordinator:
            self.execution.fail(member_lost(member))

    # ---- statistics, and time

    def streams(self) -> tuple[tuple[SenderStatistics, ...], tuple[ReceiverStatistics, ...]]:
        """The ends of the job's streams on this member: the senders, and the receivers."""
        senders = tuple(output.statistics() for output in self._outputs.values())
        return senders, tuple(remote.statistics() for remote in self._inputs.values())

    @property
    def sends(self) -> bool:
        """Whether this member sends data to others."""
        return bool(self._outputs)

    @property
    def has_streams(self) -> bool:
        """Whether other members still send data to this member."""
        return any(not remote.finished for remote in self._inputs.values())

    def adapt(self, now: float) -> None:
        """Adapt the receive windows of all incoming streams; to be called once per flow-control period.
        ``now``: the clock's seconds."""
        for remote in self._inputs.values():
            remote.adapt(now)


def member_lost(member: str) -> OperationalError:
    """Return the error (SQLSTATE 08006) of a job or request that needs ``member``, which has left the cluster
    or can't be reached."""
    return OperationalError(f"member {member} was lost while the query ran on it", sqlstate="08006")
