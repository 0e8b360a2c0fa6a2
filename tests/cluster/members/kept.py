"""A simulated cluster with a keeper: members join, leave and are lost as their real code does it."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.keeper.keeper_settings import KeeperSettings
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.membership.membership_state import MembershipSettings
from sqlfront_cluster.members.protocol.keeper_names import keeper_name
from sqlfront_cluster.simulation import Simulation
from sqlfront_engine.dag import DAG
from sqlfront_engine.edges.queues import NOTHING
from sqlfront_engine.engine import DEFAULT_CONFIG, Engine, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_values.errors import OperationalError


class SimulatedTenure:
    """The right to be the keeper, as long as nobody has taken the office since."""

    def __init__(self, kept: "Kept", epoch: int) -> None:
        self.epoch, self.begins = epoch, epoch == 1
        self._kept = kept

    def is_held(self) -> bool:
        """Whether this is still the last epoch."""
        return self._kept.epoch == self.epoch


class Kept:
    """A keeper and, once all have joined, the members of the names given; lite ones begin with "client",
    clients without a place in the list with "observer". Members are told ``silence_limit`` by the keeper
    alone. With ``one_host`` the keeper can see that the process of a member has ended."""

    def __init__(
        self, *names: str, seed: int = 1, silence_limit: float = 5.0, one_host: bool = False
    ) -> None:
        self.simulation = Simulation(seed)
        self.simulation.one_host = one_host
        self.simulation.drop = self._note
        #: Every message that was sent: sender, receiver, message.
        self.said: list[tuple[str, str, msgspec.Struct]] = []
        self._settings = KeeperSettings(silence_limit)
        self.epoch = 0
        #: All keepers so far; the last one is :attr:`keeper`.
        self.keepers: list[Keeper] = []
        self.take_over()
        self.memberships: dict[str, Membership] = {}
        self.ends: dict[str, OperationalError | None] = {}
        for name in names:
            self.add(name)
        assert self.run(lambda: all(each.joined for each in self.memberships.values()))
        self.simulation.pass_time(0.5)

    def take_over(self, *ended: str) -> None:
        """Somebody becomes the keeper; members find it from now on. It knows that the members ``ended`` have
        ended."""
        self.epoch += 1
        machine = self.simulation.machine(keeper_name(self.epoch))
        tenure = SimulatedTenure(self, self.epoch)
        self.keeper = Keeper(
            machine.transport, machine.clock, self._settings, tenure=tenure, ended=frozenset(ended)
        )
        self.keepers.append(self.keeper)

    def _ended(self, name: str, error: OperationalError | None) -> None:
        self.ends.setdefault(name, error)

    def add(self, name: str) -> Membership:
        """Somebody begins to join."""
        machine = self.simulation.machine(name)
        engine = Engine(clock=machine.clock, threads=(machine.workers, machine.workers), memory_limit=1 << 30)
        observes = name.startswith("observer")
        lite = observes or name.startswith("client")
        address = "" if lite else name
        settings = MembershipSettings(keeper_name(self.epoch), address, lite, observes=observes)
        membership = Membership(
            engine,
            machine.transport,
            settings,
            on_end=partial(self._ended, name),
            locate=lambda: keeper_name(self.epoch),
        )
        self.memberships[name] = membership
        membership.join()
        return membership

    def _note(self, sender: str, receiver: str, message: msgspec.Struct) -> bool:
        self.said.append((sender, receiver, message))
        return False

    def run(self, until: object, limit: float = 60.0) -> bool:
        assert callable(until)
        return self.simulation.run(until, limit)

    def kill(self, name: str) -> None:
        self.simulation.machines[name].kill()

    def pause(self, name: str, seconds: float) -> None:
        self.simulation.machines[name].pause(seconds)

    @property
    def alive(self) -> list[str]:
        """The members that neither ended nor were killed, nor sleep."""
        machines, now, ends = self.simulation.machines, self.simulation.time, self.ends
        return [
            name
            for name in self.memberships
            if name not in ends and (machine := machines[name]).alive and machine.asleep_until <= now
        ]

    def agreed(self) -> bool:
        """Whether everybody uses the keeper's list."""
        return all(self.memberships[name].member.members == self.keeper.members for name in self.alive)

    def owned(self) -> Counter[str]:
        """How many partitions each member owns."""
        return Counter(self.keeper.members.owners)

    def submit(self, dag: DAG, at: str, config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        return self.memberships[at].member.submit(dag, config)

    def read(self, job: LightJob) -> list[Any]:
        """The values of the result's first column; raises what the job failed with."""
        batches: list[pa.RecordBatch] = []

        def at_end() -> bool:
            while (batch := job.poll()) is not NOTHING:
                if batch is None:
                    return True
                batches.append(batch)
            return False

        assert self.run(at_end), "the job hangs"
        return [value for batch in batches for value in batch.column(0).to_pylist()]

    def leftovers(self, among: Sequence[str] | None = None) -> dict[str, object]:
        """What is left of jobs on members that are alive."""
        left: dict[str, object] = {}
        for name in self.alive if among is None else among:
            member = self.memberships[name].member
            statistics = member.statistics()
            if (
                not statistics.idle
                or statistics.remembered
                or member.engine.memory.used != member.engine.tables.used
            ):
                left[name] = statistics
        return left
