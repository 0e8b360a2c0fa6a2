"""The bounds of a handover: the work of a member that moves its rows to other members before it leaves."""

import math
from typing import Final

import msgspec

from sqlfront_values.errors import ProgrammingError

#: Seconds of a handover at most: some 10 GB on a slow network.
HANDOVER_TIMEOUT: Final = 300.0


class HandoverRules(msgspec.Struct, frozen=True):
    """The bounds of the handover of a member that leaves. ``timeout``: seconds for which the member may move
    its rows to other members, 0 = no handover; the rows that are left then are lost with the member.
    ``forced``: whether the member leaves also where the others have no room for its rows, so that the rows
    without room are lost; else it stays. Raises ProgrammingError for a timeout that is no number of seconds.
    """

    timeout: float = HANDOVER_TIMEOUT
    forced: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.timeout < math.inf:
            raise ProgrammingError(f"handover_timeout must be a number of seconds, not {self.timeout}")


DEFAULT_RULES: Final = HandoverRules()
#: The rules of a member whose rows nobody could read after its end.
NO_HANDOVER: Final = HandoverRules(timeout=0.0)
