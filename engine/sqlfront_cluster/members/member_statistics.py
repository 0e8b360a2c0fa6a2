"""The statistics of a member."""

import msgspec

from sqlfront_engine.edges.exchange import ReceiverStatistics, SenderStatistics


class MemberStatistics(msgspec.Struct, frozen=True):
    """A snapshot of a member's state.

    ``peers``: the names of connected members. ``participations`` and ``coordinations``: the numbers of jobs
    that run here and that are coordinated here. ``early``: the number of jobs of which data has arrived
    before the message that starts them (Init). ``remembered``: the number of ended jobs whose late messages
    are still recognised. ``senders`` and ``receivers``: the state of the running jobs' streams, the data of
    an edge from one member to another. ``listings``: the number of listings of queries under way.
    ``requests``: the number of calls that wait for answers of other members.
    """

    peers: tuple[str, ...]
    participations: int
    coordinations: int
    early: int
    remembered: int
    senders: tuple[SenderStatistics, ...] = ()
    receivers: tuple[ReceiverStatistics, ...] = ()
    listings: int = 0
    requests: int = 0

    @property
    def idle(self) -> bool:
        """True if the member has no running job, no data of a job, no listing of queries under way, and waits
        for no answer."""
        return not (self.participations or self.coordinations or self.early or self.listings or self.requests)
