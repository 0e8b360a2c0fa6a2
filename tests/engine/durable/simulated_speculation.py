"""Simulated durable jobs in which tasks get second attempts when chance says so."""

from collections.abc import Callable

from sqlfront_engine.durable.speculation import Speculation
from sqlfront_engine.durable.tasks import TaskRun
from tests.engine.durable.simulated_jobs import World


class SimulatedSpeculation(Speculation):
    """Attempts are slow when chance says so."""

    def __init__(self, world: World) -> None:
        super().__init__(world.clock)
        self._world = world

    def _is_slow(self, run: TaskRun, now: float) -> bool:
        return run.run_id in self._began and self._world.chance.random() < 0.3

    def look_later(self, look: Callable[[], None]) -> None:
        """Do nothing: the coordinator looks whenever something happens."""


class SpeculativeWorld(World):
    """A world in which tasks get second attempts."""

    def speculation(self) -> Speculation:
        return SimulatedSpeculation(self)
