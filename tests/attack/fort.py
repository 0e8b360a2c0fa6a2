"""A cluster under attack, with a good client in it that must notice nothing."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import RunningMember
from tests.cluster.members.probe import Report, ask

SECRET = "the secret of the fort"
PRELOAD = ("tests.cluster.members.probe",)
ROWS = 1000
TOTAL = ROWS * (ROWS - 1) // 2

#: Seconds that a member may take to become quiet after an attack.
PATIENCE = 20.0
#: Bytes by which an attack may make a member's process larger.
GROWTH = 96 << 20
#: How many times as long as before the good client may wait in the middle, since the attackers work on the
#: same machine; and seconds that count as nothing, in the middle and at worst.
SLOWER, UNNOTICED, AT_WORST = 25.0, 0.1, 5.0


class Fort:
    """Two members, their keeper, a good client with a table, and another one that looks at the members."""

    def __init__(self, cluster: LocalCluster, good: sqlfront.Connection, watcher: RunningMember) -> None:
        self.cluster, self.good, self._watcher = cluster, good, watcher
        self.targets = (cluster.address, *(each.address for each in cluster.members.members if each.address))
        good.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (id) INTO 271 BUCKETS AS SELECT id FROM range(1000)"
        )
        for number in range(50):
            self.ask(number)
        self._usual = statistics.median(self.ask(number) for number in range(50))

    def ask(self, number: int) -> float:
        """Ask the good client's two questions, whose answers have to be right; returns the seconds taken."""
        began = time.perf_counter()
        key = number % ROWS
        assert self.good.execute("SELECT id FROM t WHERE id = ?", [key]).fetchall() == [(key,)]
        assert self.good.execute("SELECT count(*), sum(id) FROM t").fetchall() == [(ROWS, TOTAL)]
        return time.perf_counter() - began

    def reports(self) -> dict[str, Report]:
        """What the members hold."""
        return ask(self._watcher.member)

    @contextmanager
    def attacked(self) -> Iterator[None]:
        """The attack is the body; afterwards everything has to be as before, and meanwhile the good client
        was answered."""
        before = self.reports()
        taken: list[float] = []
        failures: list[BaseException] = []
        over = threading.Event()

        def go_on() -> None:
            try:
                while not over.is_set():
                    taken.append(self.ask(len(taken)))
                    over.wait(0.005)
            except BaseException as error:  # noqa: BLE001 - raised below
                failures.append(error)

        client = threading.Thread(target=go_on)
        client.start()
        try:
            yield
        finally:
            over.set()
            client.join()
        if failures:
            raise failures[0]
        self._check_times(taken)
        self._check_members(before)

    def _check_times(self, taken: Sequence[float]) -> None:
        assert taken, "the good client was never answered"
        middle = statistics.median(taken)
        assert middle <= max(SLOWER * self._usual, UNNOTICED), (middle, self._usual)
        assert max(taken) <= AT_WORST, (max(taken), self._usual)

    def _check_members(self, before: dict[str, Report]) -> None:
        for name, process in self.cluster.processes.items():
            assert process.poll() is None, f"member {name} has died:\n{self.cluster.log(name)[-3000:]}"

        def quiet() -> bool:
            now = self.reports()
            return now.keys() == before.keys() and all(
                now[name].descriptors <= before[name].descriptors + 1
                and len(now[name].threads) <= len(before[name].threads) + 2
                and now[name].statistics.participations == 0
                for name in now
            )

        until(quiet, lambda: f"{self.reports()}\nbefore:\n{before}")
        after = self.reports()
        for name in after:
            assert after[name].resident - before[name].resident < GROWTH, (name, before, after)


def until(fact: Callable[[], bool], told: Callable[[], str]) -> None:
    """Until the fact holds."""
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)


@contextmanager
def built(*, insecure: bool) -> Iterator[Fort]:
    """A fort on 127.0.0.1, encrypted or not."""
    with (
        LocalCluster(
            2,
            workers=1,
            tcp=True,
            insecure=insecure,
            service=SERVICE,
            preload=PRELOAD,
            secret=SECRET.encode(),
            memory_limit=512 << 20,
        ) as cluster,
        cluster.client("watcher") as watcher,
        sqlfront.connect(
            f"sqlfront://{cluster.address}", secret=SECRET, insecure=insecure or None, workers=1
        ) as good,
    ):
        yield Fort(cluster, good, watcher)
