"""Single messages between simulated members that get lost, or take long, while their connections hold."""

from math import inf
from random import Random
from typing import Final

import msgspec

from sqlfront_cluster.members.protocol.messages import (
    Answer,
    CheckRequests,
    Message,
    Request,
    RequestsHandled,
)
from tests.cluster.members.chaos import LOSSES
from tests.cluster.members.keeper_chaos import LOSABLE
from tests.sqlfront.simulated import TableTown

#: What gets lost in a seed besides the messages of jobs: the chance of each message, and how many at most.
OF_LOOKUPS: Final[tuple[tuple[tuple[type[Message], ...], float, float], ...]] = (
    ((Request,), 0.3, 1),
    ((Answer,), 0.3, 1),
    ((Request, Answer, CheckRequests, RequestsHandled), 0.1, inf),
)
#: And between members and their keeper.
OF_KEEPERS: Final = (LOSABLE, 0.05, inf)
#: Seconds that late messages take at most: less than statements notice.
UNNOTICED: Final = (0.02, 0.3)
#: And more: members may be given up.
NOTICED: Final = 4.0


class MessageFaults:
    """The messages of a town that get lost, with ``losses``, and those that are late, with ``delays``."""

    def __init__(self, town: TableTown, random: Random, *, losses: bool, delays: bool) -> None:
        self.lost = 0
        self.late = 0
        #: Whether statements may notice any of it.
        self.disturb = False
        self._random = random
        self._losable, self._loss, most = random.choice((*LOSSES[2:], *OF_LOOKUPS, OF_KEEPERS))
        # In the end statements that are run again must succeed.
        self._left = min(most, random.choice((2, 20, 100)))
        self._bound = random.choice((*UNNOTICED, NOTICED))
        self._delay = random.choice((0.003, 0.02))
        self._note = town.simulation.drop
        if losses:
            town.simulation.drop = self._drops
        if delays:
            town.simulation.late = self._lateness

    def end(self) -> None:
        """Lose nothing any more, and let nothing be late."""
        self._left, self._delay = 0, 0.0

    def _drops(self, sender: str, receiver: str, message: msgspec.Struct) -> bool:
        self._note(sender, receiver, message)
        if not self._left or not isinstance(message, self._losable) or self._random.random() >= self._loss:
            return False
        self._left -= 1
        self.lost += 1
        self.disturb = True
        return True

    def _lateness(self, sender: str, receiver: str, message: msgspec.Struct) -> float:
        if self._random.random() >= self._delay:
            return 0.0
        self.late += 1
        self.disturb |= self._bound == NOTICED
        return self._random.uniform(0.0, self._bound)
