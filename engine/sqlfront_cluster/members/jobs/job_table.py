"""The jobs of one member: those that run here, those that are coordinated here, and those that have ended."""

from collections.abc import Mapping
from threading import RLock
from typing import Final

import msgspec

from sqlfront_cluster.members.jobs.coordination import Coordination
from sqlfront_cluster.members.jobs.participation import NO_ROLES, EarlyMessages, Participation
from sqlfront_cluster.members.protocol.messages import Completed, Data, InputClosed
from sqlfront_cluster.network.transport import Body
from sqlfront_engine.edges.exchange import EdgeStream
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.scheduler import Clock
from sqlfront_values.errors import InterfaceError

#: Seconds for which ended jobs are remembered: messages on their way at the end of a job arrive sooner, and a
#: lost answer is asked for again sooner.
ENDED_MEMORY: Final = 5.0

#: Bits of a job's id below the number of its block: the ids that a member gives out are of one block or two.
_BLOCK_BITS: Final = 40

_NOTHING_SENT: Final[Mapping[EdgeStream, int]] = {}


class EndedPart(msgspec.Struct, frozen=True):
    """A part of a job that has ended on this member, or never begins here. ``since``: the time of the end (s,
    the clock's). ``coordinator``: the job's coordinator, empty if it isn't known. ``answer``: the answer to
    the coordinator, None if this member coordinates the job or the part has never begun. ``sent``: the number
    of Data messages that the part has sent, by stream. ``roles``: the names in the streams of peers that have
    other names there."""

    since: float
    coordinator: str
    answer: Completed | None
    sent: Mapping[EdgeStream, int]
    roles: Mapping[str, str]

    def sent_to(self, peer: str, edge: int) -> int:
        """Return the number of Data messages that the part has sent to ``peer`` for an edge."""
        return self.sent.get(EdgeStream(edge, self.roles.get(peer, peer)), 0)


class EndedParts:
    """The parts of jobs that have ended on this member, by the jobs' ids, each for :data:`ENDED_MEMORY`
    seconds. Of parts that were dropped, the highest id by coordinator stays known, so that a job that has
    ended here never counts as one that has not begun."""

    def __init__(self) -> None:
        self._parts: dict[int, EndedPart] = {}
        # By coordinator and block of numbers: the ids of a coordinator's clients are of other blocks.
        self._dropped: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, number: int) -> bool:
        return number in self._parts

    def get(self, number: int) -> EndedPart | None:
        """Return the part of job ``number``, None if it has not ended here or was dropped."""
        return self._parts.get(number)

    def add(
        self,
        number: int,
        now: float,
        coordinator: str = "",
        answer: Completed | None = None,
        sent: Mapping[EdgeStream, int] = _NOTHING_SENT,
        roles: Mapping[str, str] = NO_ROLES,
    ) -> None:
        """Remember the part of job ``number``, which has ended now (``now``: s, the clock's)."""
        self._parts[number] = EndedPart(now, coordinator, answer, sent, roles)

    def drop_old(self, now: float) -> None:
        """Drop the parts that ended long ago."""
        for number, part in self._parts.copy().items():
            if now - part.since >= ENDED_MEMORY:
                del self._parts[number]
                block = part.coordinator, number >> _BLOCK_BITS
                self._dropped[block] = max(number, self._dropped.get(block, number))

    def may_have_dropped(self, number: int, coordinator: str) -> bool:
        """Return whether a part of job ``number`` of ``coordinator`` may have ended here and was dropped.
        Coordinators number their jobs upwards."""
        return number <= self._dropped.get((coordinator, number >> _BLOCK_BITS), -1)

    def forget_coordinator(self, name: str) -> None:
        """Forget the ids of the dropped parts of jobs that ``name``, which is lost, has coordinated: all its
        jobs have failed."""
        for block in [each for each in self._dropped if each[0] == name]:
            del self._dropped[block]


class JobTable:
    """The jobs of one member by their ids. ``lock`` guards all fields, and is held only for reading and
    changing them: whoever calls a method holds the lock. The lock is reentrant for finalizers: a forgotten
    job may end at any point, so loops iterate over copies."""

    def __init__(self, clock: Clock) -> None:
        self.lock = RLock()
        self.participations: dict[int, Participation] = {}
        self.coordinations: dict[int, Coordination] = {}
        self.early: dict[int, EarlyMessages] = {}
        self.ended = EndedParts()
        #: Ids of jobs whose Init is being handled.
        self.reserved: set[int] = set()
        self._clock = clock

    def has_part(self, number: int) -> bool:
        """Return whether a part of the job runs here, or is being prepared."""
        return number in self.participations or number in self.reserved

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to check from time to time."""
        return not (self.participations or self.coordinations or self.early or self.ended)

    # ---- the begin of a part

    def reserve(self, number: int) -> None:
        """Record that the part of job ``number`` on this member is being prepared. Raises InterfaceError if a
        part of a job with this id runs here or is being prepared."""
        if self.has_part(number):
            raise id_in_use(number)
        self.reserved.add(number)

    def keep_early(self, sender: str, message: Data | InputClosed, body: Body) -> None:
        """Store a message of a job whose Init has not come yet."""
        early = self.early.get(message.job)
        if early is None:
            early = self.early[message.job] = EarlyMessages(self._clock.now(), [])
        early.messages.append((sender, message, body))

    def drop_early(self, sender: str) -> None:
        """Drop the data that ``sender``, which is lost, has sent for jobs without an Init. If such a job ever
        begins, it fails."""
        for number, early in self.early.copy().items():
            early.messages = [each for each in early.messages if each[0] != sender]
            if not early.messages:
                del self.early[number]
                self.ended.add(number, self._clock.now())

    def register(self, participation: Participation) -> None:
        """Deliver the job's messages to ``participation`` from now on, first those that came before the
        Init."""
        number = participation.execution.id
        self.participations[number] = participation
        early = self.early.pop(number, None)
        for sender, message, body in early.messages if early is not None else ():
            participation.hear(sender, message, body)

    # ---- the end

    def never_begun(self, number: int, coordinator: str, answer: Completed | None = None) -> None:
        """Drop all data of job ``number``, which never begins here: the data that has come, and later data as
        long as ended jobs are remembered. ``answer``: the answer to the Init."""
        self.early.pop(number, None)
        self.ended.add(number, self._clock.now(), coordinator, answer)

    def give_up(self, number: int) -> None:
        """Forget a job that could not be started here."""
        self.reserved.discard(number)
        self.participations.pop(number, None)
        self.coordinations.pop(number, None)

    def forget(self, execution: Execution, answer: Completed | None = None) -> None:
        """Remove a job that has ended here. It is remembered for later messages if another member coordinates
        the job (which may ask for the ``answer`` again), if the job didn't complete, or if it sent data from
        here (a receiver may refuse data, or lack it)."""
        participation = self.participations.pop(execution.id, None)
        if participation is None:
            self.ended.add(execution.id, self._clock.now())
        elif participation.sends or answer is not None or execution.status is not JobStatus.COMPLETED:
            self.ended.add(
                execution.id,
                self._clock.now(),
                participation.coordinator,
                answer,
                participation.sent,
                participation.roles,
            )

    def forget_coordination(self, number: int) -> None:
        """Forget the coordination of job ``number`` if all participants have answered and no part of the job
        runs here; a job that has failed here may still wait for answers."""
        coordination = self.coordinations.get(number)
        if coordination is not None and coordination.over and not self.has_part(number):
            del self.coordinations[number]


def id_in_use(number: int) -> InterfaceError:
    """Return the error of a second job with the id ``number``."""
    return InterfaceError(f"there is a job {number} already")
