"""What happens besides reads and writes in a seed of the tables' simulation, and how the seeds ended."""

from collections import Counter
from random import Random
from typing import Final, Self

import msgspec

from tests.cluster.seeds import Sums
from tests.sqlfront.crash_points import Crash, coverage

#: Chances of what a mixed campaign's seed may have.
CHANCES: Final = {
    "lookups": 0.5,
    "leaves": 0.4,
    "joins": 0.3,
    "crashes": 0.5,
    "keepers": 0.3,
    "losses": 0.3,
    "delays": 0.3,
    "changes": 0.15,
}


class Scenario(msgspec.Struct, frozen=True):
    """What happens besides writes and reads. ``lookups``: rows are looked up and changed by their keys,
    without jobs. ``backups``: the table's backups; while no more members than that are lost, no row is.
    ``leaves``: members leave and join, which loses no row as long as one stays; ``joins``: members join.
    ``crashes``: processes crash at chosen steps of handovers, writes and takeovers, the keeper included.
    ``keepers``: keepers are killed and stopped at random steps and followed by others, which no statement may
    notice. ``changes``: most statements are changes of rows by their keys, and there are more statements.
    ``losses``: single messages of jobs and of lookups get lost while their connections hold. ``delays``:
    single messages take much longer than others."""

    lookups: bool = False
    backups: int = 0
    leaves: bool = False
    crashes: bool = False
    keepers: bool = False
    changes: bool = False
    joins: bool = False
    losses: bool = False
    delays: bool = False

    @classmethod
    def drawn(cls, seed: int) -> Self:
        """Return the scenario of a seed of a mixed campaign.

        >>> Scenario.drawn(1) == Scenario.drawn(1) != Scenario.drawn(2)
        True
        """
        random = Random(f"scenario {seed}")
        has = {name: random.random() < chance for name, chance in CHANCES.items()}
        return cls(backups=random.choice((0, 1, 1, 2)), **has)

    def parts(self) -> tuple[str, ...]:
        """Return what the scenario has, in words."""
        return (*(name for name in CHANCES if getattr(self, name)), f"{self.backups} backups")


class Outcome(Sums):
    """How reads and writes of some seeds ended. ``forms``: how many seeds had each part of a scenario.
    ``lost`` and ``late``: messages. ``reached`` and ``crashed``: how often each step was reached at which
    processes may crash, and how often they crashed there."""

    read: int = 0
    looked_up: int = 0
    written: int = 0
    failed: int = 0
    left: int = 0
    takeovers: int = 0
    lost: int = 0
    late: int = 0
    steps: int = 0
    forms: Counter[str] = msgspec.field(default_factory=Counter)
    reached: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    crashed: Counter[Crash] = msgspec.field(default_factory=Counter)


def summary(total: Outcome) -> str:
    """Return how a campaign ended."""
    forms = ", ".join(f"{count} with {name}" for name, count in total.forms.most_common())
    return (
        f"seeds: {forms}\n"
        f"{total.read} reads and {total.looked_up} lookups of one version each, {total.written} writes,"
        f" {total.failed} named errors, {total.left} members left, {total.takeovers} takeovers,"
        f" {total.lost} messages lost and {total.late} late, {total.steps:,} events\n"
        + (coverage(total.reached, total.crashed) if total.reached else "no crashes")
    )
