"""The settings and the states of a member's part in its cluster."""

from collections.abc import Callable
from enum import Enum
from threading import RLock
from typing import Final

import msgspec

from sqlfront_engine.scheduler import Clock


class MembershipSettings(msgspec.Struct, frozen=True):
    """The settings of a membership. ``keeper``: the keeper's address. ``address``: the address at which other
    members connect to this member, empty for none. ``lite``: the member owns no partitions.
    ``silence_limit``: seconds to wait for the keeper's first answer; later the limit that the keeper sends
    applies. ``observes``: this is a client that gets the documents and the member list, but no place in the
    list, and submits its jobs to members."""

    keeper: str
    address: str = ""
    lite: bool = False
    silence_limit: float = 5.0
    observes: bool = False


class MembershipState(Enum):
    """The states of a membership, in the order in which it goes through them. JOINING: the member list
    doesn't have the member yet. JOINED: the list has the member. LEAVING: the list still has the member,
    which wants to leave, so that no new job begins here. ENDED: the membership is over."""

    JOINING = "joining"
    """The member is not in the list yet."""
    JOINED = "joined"
    """The member is in the list."""
    LEAVING = "leaving"
    """The member is in the list; running jobs go on, and no job begins here."""
    ENDED = "ended"
    """The member has left, was removed or was closed."""


#: States in which the member is in the list.
_LISTED: Final = frozenset({MembershipState.JOINED, MembershipState.LEAVING})


class MembershipStatus:
    """The state of one membership, shared by the parts of the membership. ``lock`` guards the state and the
    fields of all parts; the member's locks are taken within this lock, never the other way round."""

    def __init__(self, clock: Clock) -> None:
        self.lock = RLock()
        self.state = MembershipState.JOINING
        #: The reason why no job may begin here, unless the member is in the list and stays there.
        self.why = "this member has not joined its cluster yet"
        self._clock = clock

    @property
    def joined(self) -> bool:
        """True if the member is in the list, also while it is leaving."""
        return self.state in _LISTED

    @property
    def ended(self) -> bool:
        """True if the membership is over."""
        return self.state is MembershipState.ENDED

    def now(self) -> float:
        """Return the time of the member's clock (s)."""
        return self._clock.now()

    def later(self, seconds: float, function: Callable[[], None]) -> None:
        """Call ``function`` after ``seconds``; does nothing if the membership is over."""
        if not self.ended:
            self._clock.call_at(self._clock.now() + seconds, function)
