"""Keepers of simulated members that are killed or stopped at random steps, and followed by others."""

from random import Random

from sqlfront_cluster.members.protocol.keeper_names import keeper_name
from tests.sqlfront.simulated import TableTown


class KeeperFaults:
    """Faults of a town's keepers, ``count`` of them, each followed by a takeover before the members' leases
    end, and none before the former keeper has all members: so no statement may notice any."""

    def __init__(self, town: TableTown, count: int, random: Random) -> None:
        self.takeovers = 0
        #: How many faults are to come.
        self.left = count
        self._town, self._random = town, random
        # Whether a keeper is gone that nobody has followed yet; the time of the last takeover (s).
        self._awaited = False
        self._followed = 0.0

    def step(self) -> None:
        """Perhaps let the keeper fail now."""
        town = self._town
        machine, now = town.simulation.machines[keeper_name(town.epoch)], town.simulation.time
        if self._awaited or not self.left or self._random.random() > 0.003:
            return
        if town.keeper.members.epoch != town.epoch or now < self._followed + 2:
            return
        if not machine.alive or machine.asleep_until > now:
            return
        self.left -= 1
        self._awaited = True
        if self._random.random() < 0.6:
            machine.kill()
            delay = self._random.choice((0.001, 0.05, 1.0))
        else:  # when it goes on, it must say nothing
            machine.pause(self._random.choice((2.6, 4.0, 9.0)))
            delay = 2.5
        town.simulation.at(now + delay, self._take_over)

    def _take_over(self) -> None:
        self._awaited = False
        self._town.take_over()
        self._followed = self._town.simulation.time
        self.takeovers += 1
