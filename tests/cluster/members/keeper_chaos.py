"""Random changes of documents on a simulated cluster whose keepers are killed, stopped and followed by
others: what was answered is kept, what was refused was never made, and everybody agrees in the end. With
every fifth seed single messages about documents and lists get lost, too, although the connections hold, and
clients without a place in the member list come and go.

    python -m tests.cluster.members.keeper_chaos --seeds 10000
"""

import sys
from collections.abc import Iterable
from functools import partial
from random import Random
from typing import Final

import msgspec

from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.protocol.cluster_messages import (
    ClientsChanged,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    DocumentsSeen,
    Heartbeat,
    HeartbeatAnswer,
    ListAdopted,
    MemberListChanged,
    PutDocument,
    SendAgain,
)
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.keeper_names import keeper_name
from sqlfront_cluster.members.protocol.member_list import MemberList
from tests.cluster.members.kept import Kept
from tests.cluster.seeds import Bug, Sums, campaign, run_seeds, seed_parser

MEMBERS: Final = ("m0", "m1", "m2")
CLIENTS: Final = ("client-0", "client-1")
#: Instead of the second one with every third seed: a client without a place in the member list.
OBSERVER: Final = "observer"
KEYS: Final = ("a", "b", "c")
#: The messages that get lost with some seeds, and how likely each one.
LOSABLE: Final = (
    ClientsChanged,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    DocumentsSeen,
    Heartbeat,
    HeartbeatAnswer,
    ListAdopted,
    MemberListChanged,
    PutDocument,
    SendAgain,
)
LOSS: Final = 0.05


class Outcome(Sums):
    """How the changes of some seeds ended, and how often the keeper was followed by another one."""

    made: int = 0
    refused: int = 0
    unknown: int = 0
    takeovers: int = 0
    lost: int = 0
    steps: int = 0


class Put(msgspec.Struct):
    """One request for a change, whose content names the change that it follows, as in a list of versions."""

    key: str
    content: bytes
    outcome: list[PutOutcome]


class KeeperChaos:
    """One seed: clients change documents, keepers go and come, and members and connections break."""

    def __init__(self, seed: int) -> None:
        self.clients = (CLIENTS[0], OBSERVER if seed % 3 == 1 else CLIENTS[1])
        self.kept = Kept(*MEMBERS, *self.clients, seed=seed, one_host=seed % 4 < 2)
        self.simulation = self.kept.simulation
        self.random = self.simulation.random
        self.outcome = Outcome()
        self.puts: list[Put] = []
        #: The contents that each member ever had.
        self.visible: dict[str, set[bytes]] = {name: set() for name in (*MEMBERS, *self.clients)}
        self._numbers = 0
        self._left = self.random.randint(5, 25)
        self._takeovers = self.random.randint(1, 3)
        # Whether anything but keepers was disturbed, so that members may have been lost.
        self._disturbed = False
        self._breaks = self.random.choice((0, 0, 1, 2))
        # A watcher's error would only be logged.
        self._wrong: list[str] = []
        self._lists: dict[str, MemberList] = {}
        self._awaited = False
        # The time of the last takeover.
        self._began = -10.0
        self._losses = Random(seed)
        self._losable: tuple[type[msgspec.Struct], ...] = LOSABLE if seed % 5 == 4 else ()
        # How often a client comes or goes besides, and those that have come.
        self._visits = 6 if self._losable else 0
        self._visitors: list[str] = []
        self._note_message = self.simulation.drop
        self.simulation.drop = self._drops
        for name, membership in self.kept.memberships.items():
            membership.watchers.append(partial(self._note, name))
            membership.list_watchers.append(partial(self._note_list, name))

    def run(self) -> Outcome:
        """Let it all happen; raises :class:`Bug`."""
        for key in KEYS:
            self._put(self.clients[0], key)
        while self._left or self._takeovers or self._awaited:
            self._step()
        self._check_the_end()
        self.outcome.steps = self.simulation.steps
        return self.outcome

    def _step(self) -> None:
        if not self.simulation.step():
            raise Bug("nothing will ever happen")
        chance = self.random.random()
        if self._left and chance < 0.05:
            self._left -= 1
            self._put(self.random.choice((*self.clients, *MEMBERS)), self.random.choice(KEYS))
        elif self._takeovers and not self._awaited and chance > 0.99:
            self._takeovers -= 1
            self._lose_keeper()
        elif self._breaks and 0.05 < chance < 0.055:
            self._breaks -= 1
            self._break_something()
        elif self._visits and 0.055 < chance < 0.065:
            self._visits -= 1
            self._come_or_go()

    def _come_or_go(self) -> None:
        """Let the last client that has come go again, or a new one come."""
        self._disturbed = True
        last = self._visitors[-1] if self._visitors else None
        if last is not None and self.kept.memberships[last].joined:
            self.kept.memberships[last].leave()
        else:
            self._visitors.append(f"{OBSERVER}-{len(self._visitors)}")
            self.visible[self._visitors[-1]] = set()
            self.kept.add(self._visitors[-1])

    def _put(self, at: str, key: str) -> None:
        membership = self.kept.memberships[at]
        if at not in self.kept.alive:
            return
        known = membership.documents.get(key)
        version, base = (0, b"") if known is None else (known.version, known.content.split(b"<")[0])
        self._numbers += 1
        put = Put(key, b"%d<%s" % (self._numbers, base), [])
        self.puts.append(put)
        membership.put(ConditionalChange(key, put.content, version), put.outcome.append)

    def _note(self, name: str, key: str) -> None:
        if not self.kept.memberships[name].joined:
            return  # no session uses these documents yet
        found = self.kept.memberships[name].documents.get(key)
        if found is not None:
            self.visible[name].add(found.content)

    def _note_list(self, name: str) -> None:
        """Lists go forward, and partitions stay where they are as long as their owner does."""
        new = self.kept.memberships[name].member.members
        old = self._lists.get(name)
        self._lists[name] = new
        if old is None or new == old or not self.kept.memberships[name].documents:
            return  # it is called after the loss of a client, too
        if (new.epoch, new.version) <= (old.epoch, old.version):
            self._wrong.append(f"{name} went back from list {old.version} to {new.version}")
        for before, after in zip(old.owners, new.owners, strict=True):
            if before != after and before in new.data_members:
                self._wrong.append(f"a partition went from {before}, which is present, to {after}")

    # ---- faults

    def _drops(self, sender: str, receiver: str, message: msgspec.Struct) -> bool:
        self._note_message(sender, receiver, message)
        lost = isinstance(message, self._losable) and self._losses.random() < LOSS
        self.outcome.lost += lost
        return lost

    def _lose_keeper(self) -> None:
        """The keeper dies or is stopped, and somebody else becomes the keeper a little later: before the
        leases end."""
        name = keeper_name(self.kept.epoch)
        if self.kept.keeper.members.epoch != self.kept.epoch or self.simulation.time < self._began + 2:
            self._disturbed = True  # two keepers in a row may be gone for longer than a lease
        if self.random.random() < 0.5:
            self.simulation.machines[name].kill()
            delay = self.random.choice((0.001, 0.05, 1.0))
        elif self.random.random() < 0.7:
            # Its clock and its messages stop.
            self.simulation.machines[name].pause(self.random.choice((2.6, 4.0, 9.0)))
            delay = 2.5
        else:  # it goes on, and finds out later
            delay = 0.0
        self._awaited = True
        self.simulation.at(self.simulation.time + delay, self._take_over)

    def _take_over(self) -> None:
        self._awaited = False
        self.kept.take_over()
        self._began = self.simulation.time
        self.outcome.takeovers += 1

    def _break_something(self) -> None:
        self._disturbed = True
        fault = self.random.randrange(4)
        alive = self.kept.alive
        members = [name for name in MEMBERS if name in alive]
        if fault == 0 and len(members) > 1:
            self.kept.kill(self.random.choice(members))
        elif fault == 1 and len(members) > 1:
            self.kept.memberships[self.random.choice(members)].leave()
        elif fault == 2 and alive:
            self.kept.pause(self.random.choice(alive), self.random.choice((0.01, 1.5, 20.0)))
        else:
            connections = self.simulation.connections()
            if connections:
                self.simulation.cut(*self.random.choice(connections))

    # ---- the end

    def _check_the_end(self) -> None:
        self._losable = ()
        self.simulation.pass_time(40)
        if self._wrong:
            raise Bug(self._wrong[0])
        alive = self.kept.alive
        disturbed = self._disturbed or self.outcome.lost  # leases end while heartbeats get lost
        if not disturbed and len(alive) != len(self.kept.memberships):
            raise Bug(f"members were lost with their keepers only: {self.kept.ends}")
        if {*alive} <= {*self._visitors}:
            return  # the cluster has ended with its last member, and nobody else can join it
        members = self.kept.memberships
        said = self.kept.keeper.members
        present = {name for name in alive if name.startswith(OBSERVER)}
        for name in alive:
            if members[name].documents != self.kept.keeper.documents:
                raise Bug(f"{name} has other documents than the keeper")
            if members[name].member.members != said:
                raise Bug(f"{name} has another list than the keeper")
            if members[name].member.clients != present:
                raise Bug(f"{name} knows {members[name].member.clients}, but {present} are clients")
        gone = {name for name in members if not self.simulation.machines[name].alive}
        for put in self.puts:
            if not put.outcome and not gone:
                raise Bug(f"a change was never answered: {put.content!r}")
        self._check_history()

    def _check_history(self) -> None:
        history: set[bytes] = set()
        contents = {content.split(b"<")[0]: content for content in (put.content for put in self.puts)}
        for document in self.kept.keeper.documents.values():
            content = document.content
            while content:
                history.add(content)
                content = contents.get(content.split(b"<")[1], b"")
        for put in self.puts:
            for outcome in put.outcome:
                self._check_outcome(put, outcome, history)
        for name in self.kept.alive:  # a member that was lost may have had what nobody else has
            if not self.visible[name] <= history:
                raise Bug(f"changes were seen and then lost: {self.visible[name] - history}")

    def _check_outcome(self, put: Put, outcome: PutOutcome, history: set[bytes]) -> None:
        if len(put.outcome) > 1:
            raise Bug(f"a change was answered twice: {put.content!r}")
        if isinstance(outcome, DocumentAnswer) and outcome.stored:
            self.outcome.made += 1
            if put.content not in history:
                raise Bug(f"an answered change was lost: {put.content!r}")
        elif isinstance(outcome, DocumentAnswer) or outcome.sqlstate == "08006":
            self.outcome.refused += 1
            sent = isinstance(outcome, DocumentAnswer)  # then a lost member alone may have had the change
            names = self.kept.alive if sent else self.visible
            if put.content in history.union(*(self.visible[name] for name in names)):
                raise Bug(f"a change was made and called not made: {put.content!r}")
        else:
            self.outcome.unknown += 1


def run_seed(seed: int) -> Outcome:
    """Run one seed; raises :class:`Bug`."""
    return KeeperChaos(seed).run()


def explore(seeds: Iterable[int]) -> tuple[int, Outcome]:
    """Run seeds; a bug names the one that found it."""
    return run_seeds(run_seed, seeds, Outcome())


def summary(total: Outcome) -> str:
    """Return how the changes of a campaign ended."""
    return (
        f"{total.takeovers} takeovers, {total.made} changes made, {total.refused} not made,"
        f" {total.unknown} unknown, {total.lost} messages lost, {total.steps:,} events"
    )


if __name__ == "__main__":
    sys.exit(campaign(run_seed, seed_parser(__doc__).parse_args(), Outcome(), summary))
