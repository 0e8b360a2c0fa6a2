"""Deterministic simulation: members, network and time in one thread, under a seed.

The members' real code runs; only threads, sockets and the clock are replaced. Each call of a tasklet, arrival
of a message and end of a timer is an event at a time drawn from the seed. Machines can be killed and paused,
connections cut, messages lost or delayed; messages of one connection keep their order, as on TCP. The same
seed gives the same run, event by event (after the simulators of FoundationDB and TigerBeetle).
"""

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

import msgspec

from sqlfront_cluster.network.transport import NetworkStatistics, Part, Peer, Receiver, UnconnectedPeer
from sqlfront_engine.tasklet import Tasklet

#: Seconds that a message takes, at least and (mostly) at most: from a Unix socket's to a busy network's.
NETWORK_DELAY: Final = (0.00005, 0.002)
#: Seconds between a tasklet's becoming runnable and its call, least and most; of the order of NETWORK_DELAY,
#: so that messages and steps come in every order.
SCHEDULING_DELAY: Final = (0.0, 0.0005)


class Simulation:
    """The simulated time, machines and network, and the events to come.

    Attributes to set: ``watch`` is called with the sender, the receiver, the message and the body of every
    message; ``drop``, called with sender, receiver and message, returns True if the message is to be lost;
    ``late``, called with the same, returns how many seconds more than others the message takes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = 0.0
        self.steps = 0
        #: The machine of the last event; None if the event was nobody's.
        self.acted: Machine | None = None
        self.drop: Callable[[str, str, msgspec.Struct], bool] = lambda sender, receiver, message: False
        self.late: Callable[[str, str, msgspec.Struct], float] = lambda sender, receiver, message: 0.0
        self.watch: Callable[[str, str, msgspec.Struct, Sequence[Part]], None] = lambda *_: None
        self.machines: dict[str, Machine] = {}
        #: Pairs of machines that can't connect; :meth:`cut` their connections, too.
        self.blocked: set[frozenset[str]] = set()
        #: Whether all machines are processes of one host, so that the end of one is known to the others.
        self.one_host = False
        self._events: list[tuple[float, int, Machine | None, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self._forgotten: set[int] = set()
        self._connections: list[_Connection] = []

    # ---- time

    def at(self, time: float, callback: Callable[[], object], machine: "Machine | None" = None) -> int:
        """Have ``callback`` called at ``time`` (seconds) and return the event's number. With a ``machine``
        the call is made only if the machine is alive then, and after its pause if it is paused."""
        number = next(self._numbers)
        heapq.heappush(self._events, (time, number, machine, callback))
        return number

    def forget(self, number: int) -> None:
        """Cancel the event with this number, which :meth:`at` has returned."""
        self._forgotten.add(number)

    def delay(self, bounds: tuple[float, float]) -> float:
        """Draw a random time in seconds between the two bounds."""
        return self.random.uniform(*bounds)

    def step(self) -> bool:
        """Run the next event, and set the simulated time to the event's time. Returns False if there is no
        event, else True."""
        while self._events:
            time, number, machine, callback = heapq.heappop(self._events)
            if number in self._forgotten:
                self._forgotten.discard(number)
                continue
            if machine is not None and not machine.alive:
                continue
            if machine is not None and machine.asleep_until > time:
                heapq.heappush(self._events, (machine.asleep_until, number, machine, callback))
                continue
            self.time = max(self.time, time)
            self.steps += 1
            self.acted = machine
            callback()
            return True
        return False

    def run(self, until: Callable[[], bool], limit: float = 1000.0) -> bool:
        """Run events until ``until()`` is true, for at most ``limit`` seconds of simulated time. Returns
        False if time or events ran out before, else True."""
        end = self.time + limit
        while not until():
            if self.time > end or not self.step():
                return until()
        return True

    def pass_time(self, seconds: float) -> None:
        """Run all events of the next ``seconds`` of simulated time, and set the simulated time to their
        end."""
        end = self.time + seconds
        while self._events and self._events[0][0] <= end:
            self.step()
        self.time = end

    # ---- machines and connections

    def machine(self, name: str) -> "Machine":
        """Make a new machine called ``name``, which replaces a machine of the same name."""
        machine = self.machines[name] = Machine(self, name)
        return machine

    def connect(self, first: str, second: str) -> None:
        """Open a connection between the transports of two machines, given by their names; the receivers of
        both machines are notified some time later."""
        self._connections = [each for each in self._connections if each.open]
        connection = _Connection(self, self.machines[first], self.machines[second])
        self._connections.append(connection)
        connection.establish()

    def reachable(self, first: str, second: str) -> bool:
        """Return whether the machine ``first`` can connect to the machine ``second``: ``second`` is alive and
        its transport has started, and the connection between the two is not blocked."""
        other = self.machines.get(second)
        blocked = frozenset((first, second)) in self.blocked
        return other is not None and other.alive and other.transport.started and not blocked

    def connections(self) -> list[tuple[str, str]]:
        """Return the names of the two machines of each open connection."""
        return [each.names for each in self._connections if each.open]

    def cut(self, first: str, second: str) -> None:
        """Cut the connection of two machines: messages under way are lost, and the receivers on both are
        notified."""
        for connection in self._connections:
            if connection.open and set(connection.names) == {first, second}:
                connection.cut("the connection was cut")


class Machine:
    """A simulated machine for one process: a clock, workers and a transport."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self.name = name
        self.simulation = simulation
        self.alive = True
        self.asleep_until = 0.0
        self.clock = SimulatedClock(self)
        self.workers = SimulatedWorkers(self)
        self.transport = SimulatedTransport(self)

    def kill(self) -> None:
        """End the machine at once: its events are dropped, and all its connections with other machines
        break."""
        self.alive = False
        for other in self.simulation.machines.values():
            if other is not self:
                self.simulation.cut(self.name, other.name)

    def pause(self, seconds: float) -> None:
        """Suspend the machine for ``seconds`` of simulated time. Its events of that time happen at the end of
        the pause."""
        # Never earlier than before: messages that have arrived meanwhile must not be overtaken.
        self.asleep_until = max(self.asleep_until, self.simulation.time + seconds)


class SimulatedClock:
    """A machine's :class:`~sqlfront_engine.scheduler.Clock`, which shows the simulated time."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def now(self) -> float:
        """Return the simulated time in seconds."""
        return self._machine.simulation.time

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called when the simulated time is ``deadline`` (s), if the machine is alive then.
        Returns a function that cancels the call."""
        simulation = self._machine.simulation
        number = simulation.at(deadline, callback, self._machine)
        return lambda: simulation.forget(number)


class SimulatedWorkers:
    """A machine's :class:`~sqlfront_engine.scheduler.Workers`, and also its
    :class:`~sqlfront_engine.scheduler.BlockingRunner`: both run everything as events of the simulation."""

    def __init__(self, machine: Machine, count: int = 2) -> None:
        self.count = count
        self.threads = 0
        self._machine = machine
        self.schedule: Callable[[Tasklet], None] = self._schedule

    def _schedule(self, tasklet: Tasklet) -> None:
        self._soon(tasklet.run)

    def _soon(self, function: Callable[[], object]) -> None:
        simulation = self._machine.simulation
        simulation.at(simulation.time + simulation.delay(SCHEDULING_DELAY), function, self._machine)

    def start(self) -> None:
        """Do nothing: there are no threads."""

    def call(self, function: Callable[[], None]) -> None:
        """Schedule a call of ``function`` soon in simulated time."""
        self._soon(function)

    def assign(self) -> Callable[[Tasklet], None]:
        """Return a function that makes a given tasklet run as events of the simulation, soon in simulated
        time, each call of the tasklet as one event."""
        return self._schedule

    def close(self) -> None:
        """Do nothing: there are no threads."""


class SimulatedTransport:
    """A machine's :class:`~sqlfront_cluster.network.transport.Transport`. Messages arrive as the objects that
    were sent."""

    by_reference = True

    def __init__(self, machine: Machine) -> None:
        self.name = machine.name
        self.receiver: Receiver
        self.started = False
        self._machine = machine

    def start(self, receiver: Receiver) -> None:
        """Deliver messages to ``receiver`` from now on."""
        self.receiver = receiver
        self.started = True

    def connect(self, address: str) -> None:
        """Connect to the machine ``address``; if it can't be reached, the receiver gets a call of
        ``disconnected`` later."""
        simulation, name = self._machine.simulation, self._machine.name
        if any(set(names) == {name, address} for names in simulation.connections()):
            return
        if simulation.reachable(name, address):
            simulation.connect(name, address)
            return
        tell = partial(self.receiver.disconnected, UnconnectedPeer(address), "it can't be reached")
        simulation.at(simulation.time + simulation.delay(NETWORK_DELAY), tell, self._machine)

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """Call ``send``, run the simulation until ``done()`` is true, since the calling thread isn't part of
        the simulation, and return True. Raises RuntimeError if the simulation runs out of events or of its
        time limit before: the thread would wait for ever, as nobody else runs the simulation."""
        send()
        if not self._machine.simulation.run(done):
            raise RuntimeError(
                f"{self.name} waits at {self._machine.simulation.time:.0f} s for what never comes"
            )
        return True

    def statistics(self) -> NetworkStatistics:
        """Return empty statistics: messages are not counted."""
        return NetworkStatistics((), {}, {}, 0)

    def close(self) -> None:
        """Cut all connections of the machine."""
        for other in self._machine.simulation.machines:
            self._machine.simulation.cut(self.name, other)


class _Connection:
    """A connection between two machines, with a :class:`SimulatedPeer` on each."""

    def __init__(self, simulation: Simulation, first: Machine, second: Machine) -> None:
        self.simulation = simulation
        self.names = first.name, second.name
        self.open = True
        self.peers = SimulatedPeer(self, first, second), SimulatedPeer(self, second, first)

    def establish(self) -> None:
        for peer in self.peers:
            peer.deliver(partial(peer.here.transport.receiver.connected, peer))

    def cut(self, reason: str) -> None:
        if self.open:
            self.open = False
            for peer in self.peers:
                peer.deliver(partial(peer.here.transport.receiver.disconnected, peer, reason), always=True)


class SimulatedProcess:
    """A machine as a :class:`~sqlfront_cluster.network.peer_process.PeerProcess` of the host of others."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def ended(self) -> bool:
        """Whether the machine was killed."""
        return not self._machine.alive


class SimulatedPeer:
    """One machine's end of a connection: a :class:`~sqlfront_cluster.network.transport.Peer`."""

    def __init__(self, connection: _Connection, here: Machine, there: Machine) -> None:
        self.name = there.name
        self.here = here
        self._there = there
        self._connection = connection
        # The time of the last delivery on this side: later deliveries come behind it.
        self._busy_until = 0.0

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Deliver the message, with the parts of ``body`` (its batches or bytes), to the other machine some
        time later, unless the message is dropped or the connection has ended."""
        simulation = self._connection.simulation
        if not self._connection.open:
            return
        simulation.watch(self.here.name, self.name, message, body)
        if simulation.drop(self.here.name, self.name, message):
            return
        first, second = self._connection.peers
        other = second if self is first else first
        other.deliver(
            lambda: other.here.transport.receiver.received(other, message, body or None),
            late=simulation.late(self.here.name, self.name, message),
        )

    def corked(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing: messages aren't collected to be sent together, since
        each message arrives at a random time of its own."""
        return nullcontext()

    def process(self) -> "SimulatedProcess | None":
        """Return the other machine as a process, if all machines are on one host; else None."""
        return SimulatedProcess(self._there) if self._connection.simulation.one_host else None

    def listen(self) -> bool:
        """Return whether the connection is open. No message is handled: no simulated time passes during the
        caller's code, so that no message can have arrived meanwhile."""
        return self._connection.open

    def deliver(self, action: Callable[[], None], *, always: bool = False, late: float = 0.0) -> None:
        """Run ``action`` on this end's machine after a random delay and ``late`` seconds more, in the order
        of the calls. The action is dropped if the connection has ended by then, unless ``always`` is true."""
        simulation = self._connection.simulation
        time = max(self._busy_until, simulation.time + simulation.delay(NETWORK_DELAY) + late)
        self._busy_until = time

        def happen() -> None:
            if always or self._connection.open:
                action()

        simulation.at(time, happen, self.here)

    def close(self, reason: str) -> None:
        """End the connection for this ``reason``; messages under way are lost."""
        self._connection.cut(reason)
