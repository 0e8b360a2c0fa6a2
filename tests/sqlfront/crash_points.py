"""The steps of a handover, of a write, of a move of rows and of a takeover on simulated members, and crashes
at these steps.

A crash is drawn as a step and a role: the process that does the work (the member that leaves, the session
that writes, or a session that reports to a new keeper), a member that stores rows or reports, or the keeper.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Final

import msgspec

from sqlfront_cluster.members.protocol.cluster_messages import (
    DocumentChanged,
    DocumentKeys,
    HandOver,
    Inquiry,
    Leave,
    LeaveAllowed,
    Left,
    ListAdopted,
    MemberListChanged,
    PutDocument,
    Report,
)
from sqlfront_cluster.members.protocol.keeper_names import keeper_name
from sqlfront_connectors.memory.spread.documents import TABLE, TURN
from tests.sqlfront.simulated import SimulatedSession, TableTown

#: The steps in which a version is made and published.
WRITING: Final = (
    "turn asked",
    "job begun",
    "share stored",
    "backup stored",
    "version sent",
    "version published",
    "turn given back",
)
#: The works, and the steps of each: a member that leaves moves its rows; a session writes; a session moves
#: rows to the new owners of their partitions; or it makes the missing copies after a loss; or a keeper
#: follows another one.
STEPS: Final = {
    "handover": ("asked", "marked", *WRITING, "leave asked", "leaving", "leave allowed", "left"),
    "write": WRITING,
    "move": WRITING,
    "repair": WRITING,
    "takeover": ("inquired", "reported", "documents sent", "list sent", "list adopted"),
}
ROLES: Final = ("worker", "holder", "keeper")


class Crash(msgspec.Struct, frozen=True):
    """A crash of the process in ``role`` at a ``step`` of a ``work``."""

    work: str
    step: str
    role: str


CRASHES: Final = tuple(
    Crash(work, step, role) for work, steps in STEPS.items() for step in steps for role in ROLES
)


class CrashPoints:
    """The steps that a town goes through, and the crashes that happen there. ``planned``: the crashes to
    come; each happens when its step is reached, a random number of times later, at once or a moment later."""

    def __init__(self, town: TableTown, planned: list[Crash], random: Random) -> None:
        self.town = town
        self.planned = planned
        #: How often each step was reached, and how often each planned crash happened.
        self.reached: Counter[tuple[str, str]] = Counter()
        self.happened: Counter[Crash] = Counter()
        self._random = random
        self._skipped = {crash: random.choice((0, 0, 1, 2)) for crash in planned}
        self._delay = random.choice((0.0, 0.0, 0.0005, 0.002, 0.02))
        # The members that hand over, and those that leave, by the lists that were sent.
        self._marked: set[str] = set()
        self._leaving: set[str] = set()
        self._published: set[int] = set()
        # The processes that the present keeper has asked for reports and not yet sent its list, and those
        # that have not yet adopted the list.
        self._asked: set[str] = set()
        self._listed: set[str] = set()
        town.simulation.watch = self._see
        town.on_store = self._store
        town.on_job = lambda session: self._reach(work_of(session), "job begun", session.name)

    def _see(self, sender: str, receiver: str, message: msgspec.Struct, body: object) -> None:
        match message:
            case HandOver() if not message.ends:
                self._reach("handover", "asked", sender)
            case Leave():
                self._reach("handover", "leave asked", sender)
            case LeaveAllowed() if receiver in self.town.services:
                self._reach("handover", "leave allowed", receiver)
            case Left() if sender in self.town.services:
                self._reach("handover", "left", sender)
            case Inquiry():
                self._asked.add(receiver)
                self._reach_takeover("inquired", receiver)
            case Report():
                self._reach_takeover("reported", sender)
            case DocumentKeys() if receiver in self._asked:
                self._reach_takeover("documents sent", receiver)
            case ListAdopted() if sender in self._listed:
                self._listed.discard(sender)
                self._reach_takeover("list adopted", sender)
            case MemberListChanged():
                self._see_list(receiver, message)
            case PutDocument() | DocumentChanged():
                self._see_document(sender, message)
            case _:
                return

    def _reach_takeover(self, step: str, name: str) -> None:
        """A new keeper talks with the member or session ``name``."""
        member = name in self.town.services
        self._reach("takeover", step, "" if member else name, name if member else "")

    def _see_list(self, receiver: str, message: MemberListChanged) -> None:
        if receiver in self._asked and message.list.epoch == self.town.epoch:
            self._asked.discard(receiver)
            self._listed.add(receiver)
            self._reach_takeover("list sent", receiver)
        marked, leaving = {*message.list.handing_over}, {e.name for e in message.list.members if e.leaving}
        for name in marked - self._marked:
            self._reach("handover", "marked", name)
        for name in (leaving - self._leaving) & self.town.services.keys():
            self._reach("handover", "leaving", name)
        self._marked, self._leaving = marked, leaving

    def _see_document(self, sender: str, message: PutDocument | DocumentChanged) -> None:
        if isinstance(message, DocumentChanged):
            if message.key.startswith(TABLE) and message.version not in self._published:
                self._published.add(message.version)
                self._reach_writing("version published", message.writer)
        elif message.change.key.startswith(TABLE):
            self._reach_writing("version sent", sender)
        elif message.change.key.startswith(TURN):
            self._reach_writing("turn asked" if message.change.content else "turn given back", sender)

    def _store(self, member: str, key: str, owner: str | None) -> None:
        """Note that a member has stored a share, or the backup of another ``owner``'s share."""
        writer = key.rpartition("@")[2].split(".")[0]
        self._reach_writing("share stored" if owner is None else "backup stored", writer, member)

    def _reach_writing(self, step: str, writer: str, member: str = "") -> None:
        session = self.town.writers.get(writer)
        if session is not None:
            self._reach(work_of(session), step, writer, member)

    def _reach(self, work: str, step: str, worker: str, member: str = "") -> None:
        self.reached[work, step] += 1
        for crash in tuple(self.planned):
            if (crash.work, crash.step) != (work, step):
                continue
            if self._skipped[crash]:
                self._skipped[crash] -= 1
            else:
                self.planned.remove(crash)
                crashes = partial(self._happen, crash, worker, member)
                self.town.simulation.at(self.town.simulation.time + self._delay, crashes)

    def _happen(self, crash: Crash, worker: str, member: str) -> None:
        victims = [*self._victims(crash.role, worker, member)]
        if victims:
            self.happened[crash] += 1
            self._kill(self._random.choice(victims))

    def _victims(self, role: str, worker: str, member: str) -> Iterator[str]:
        """Yield the processes that may be killed: never the last member nor the last session."""
        alive = self.town.alive
        if role == "keeper":
            name = keeper_name(self.town.epoch)
            if self.town.simulation.machines[name].alive:
                yield name
            return
        members = [name for name in alive if name in self.town.services]
        kind = members if worker in members else [name for name in alive if name in self.town.sessions]
        if role == "worker" and worker in kind and len(kind) > 1:
            yield worker
        elif role == "holder" and len(members) > 1:
            held = member or None
            yield from (name for name in members if name != worker and name == (held or name))

    def _kill(self, name: str) -> None:
        self.town.kill(name)
        if name == keeper_name(self.town.epoch):
            delay = self._random.choice((0.001, 0.05, 1.0))
            self.town.simulation.at(self.town.simulation.time + delay, self.town.take_over)


def work_of(session: SimulatedSession) -> str:
    """Return the work that a session does now, one of :data:`STEPS`."""
    if session.name in session.town.services:
        return "handover"
    return "write" if not session.moves else "repair" if session.repairs else "move"


def coverage(reached: Counter[tuple[str, str]], happened: Counter[Crash]) -> str:
    """Return a table of how often each step was reached, and how often each role crashed there."""
    lines = [f"{'step':28}{'reached':>9}" + "".join(f"{role:>9}" for role in ROLES)]
    for work, steps in STEPS.items():
        for step in steps:
            crashes = "".join(f"{happened[Crash(work, step, role)]:9}" for role in ROLES)
            lines.append(f"{f'{work}, {step}':28}{reached[work, step]:9}{crashes}")
    covered = sum(1 for crash in CRASHES if happened[crash])
    return "\n".join([*lines, f"crashes at {covered} of {len(CRASHES)} points"])
