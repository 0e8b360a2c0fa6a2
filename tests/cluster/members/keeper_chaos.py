"""Random changes of documents on a simulated cluster whose keepers are killed, stopped and followed by
others: what was answered is kept, what was refused was never made, and everybody agrees in the end.

    python -m tests.cluster.members.keeper_chaos --seeds 10000
"""

import logging
import sys
import time
from collections.abc import Iterable
from functools import partial
from typing import Final

import msgspec

from sqlfront_cluster.members.cluster_messages import DocumentAnswer
from sqlfront_cluster.members.document_copies import PutOutcome
from sqlfront_cluster.members.keeper_names import keeper_name
from sqlfront_cluster.members.member_list import MemberList
from tests.cluster.members.kept import Kept
from tests.cluster.seeds import Bug, Sums, run_seeds, seed_parser

MEMBERS: Final = ("m0", "m1", "m2")
CLIENTS: Final = ("client-0", "client-1")
#: Instead of the second one with every third seed: a client without a place in the member list.
OBSERVER: Final = "observer"
KEYS: Final = ("a", "b", "c")


class Outcome(Sums):
    """How the changes of some seeds ended, and how often the keeper was followed by another one."""

    made: int = 0
    refused: int = 0
    unknown: int = 0
    takeovers: int = 0
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
        self.kept = Kept(*MEMBERS, *self.clients, seed=seed)
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

    def _put(self, at: str, key: str) -> None:
        membership = self.kept.memberships[at]
        if at not in self.kept.alive:
            return
        known = membership.documents.get(key)
        version, base = (0, b"") if known is None else (known.version, known.content.split(b"<")[0])
        self._numbers += 1
        put = Put(key, b"%d<%s" % (self._numbers, base), [])
        self.puts.append(put)
        membership.put(key, put.content, version, put.outcome.append)

    def _note(self, name: str, key: str) -> None:
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
        self.simulation.pass_time(40)
        if self._wrong:
            raise Bug(self._wrong[0])
        alive = self.kept.alive
        if not self._disturbed and len(alive) != len(self.kept.memberships):
            raise Bug(f"members were lost with their keepers only: {self.kept.ends}")
        if not alive:
            return
        members = self.kept.memberships
        said = self.kept.keeper.members
        for name in alive:
            if members[name].documents != self.kept.keeper.documents:
                raise Bug(f"{name} has other documents than the keeper")
            if members[name].member.members != said:
                raise Bug(f"{name} has another list than the keeper")
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


def explore(seeds: Iterable[int]) -> tuple[int, Outcome]:
    """Run seeds; a bug names the one that found it."""
    return run_seeds(lambda seed: KeeperChaos(seed).run(), seeds, Outcome())


def main() -> int:
    options = seed_parser(__doc__).parse_args()
    logging.disable(logging.CRITICAL)
    began = time.perf_counter()
    count, total = explore(range(options.first, options.first + options.seeds))
    seconds = time.perf_counter() - began
    print(
        f"{count} seeds in {seconds:.0f} s: {total.takeovers} takeovers, {total.made} changes made,"
        f" {total.refused} not made, {total.unknown} unknown, {total.steps:,} events"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
