"""Random light jobs on a simulated cluster with random faults, and the loss of single messages of every kind:
every job ends with the right answer or a named error, and nothing is left behind.

    python -m tests.cluster.members.chaos --seeds 10000
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Final

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.members.protocol.messages import (
    Acknowledge,
    CheckJobs,
    CheckParts,
    CheckStreams,
    Completed,
    Data,
    Ended,
    Init,
    InputClosed,
    Message,
    StreamsSent,
    Submit,
    Terminate,
    UnknownJobs,
    UnknownParts,
)
from sqlfront_cluster.members.questions.listing import JobListing
from sqlfront_cluster.network.transport import Peer
from sqlfront_cluster.simulation import SimulatedTransport
from sqlfront_engine.dag import DAG, Edge, EdgeConfig
from sqlfront_engine.edges.queues import NOTHING
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import Error, OperationalError
from tests.cluster.members.cluster import Cluster, Drain
from tests.cluster.seeds import Bug, Sums, campaign, run_seeds, seed_parser
from tests.engine.jobs import Fails, First, Numbers

MEMBERS: Final = ("m0", "m1", "m2", "client")
#: Messages that may get lost while the connection holds: of jobs, and of the checker.
OF_JOBS: Final = (Init, Completed, Data, Acknowledge, InputClosed, Terminate, Submit, Ended)
OF_CHECKS: Final = (CheckJobs, UnknownJobs, CheckParts, UnknownParts, CheckStreams, StreamsSent)
#: What gets lost in a seed, the chance of each message, and how many at most.
LOSSES: Final[tuple[tuple[tuple[type[Message], ...], float, float], ...]] = (
    ((), 0.0, 0),
    ((), 0.0, 0),
    ((Terminate, Submit, Ended, *OF_CHECKS), 0.3, inf),
    ((*OF_JOBS, *OF_CHECKS), 0.01, inf),
    ((*OF_JOBS, *OF_CHECKS), 0.1, inf),
    *(((kind,), chance, most) for kind in OF_JOBS for chance, most in ((0.1, 1), (0.5, 1), (0.4, inf))),
)
#: The chance that a job is small, and read at once.
INLINE: Final = 0.2
TINY: Final = EdgeConfig(queue_size=2, receive_window=300)

ROUTES: Final[tuple[Callable[[Edge], Edge], ...]] = (
    Edge.unicast,
    Edge.isolated,
    lambda edge: edge.distributed(),
    lambda edge: edge.partitioned([0]),
    lambda edge: edge.distributed().partitioned([0]),
    lambda edge: edge.distributed().to_one(11),
    lambda edge: edge.to_one().distribute_to(),
    lambda edge: edge.to_one().distribute_to("m1"),  # the coordinator may have nothing to do with the third
)


class Outcome(Sums):
    """How the jobs of a seed ended."""

    right: int = 0
    failed: int = 0
    steps: int = 0


class Chaos:
    """One seed: a cluster, jobs one after the other and at the same time, and faults in between."""

    def __init__(self, seed: int) -> None:
        self.cluster = Cluster(3, "client", seed=seed)
        # With every other seed the client has members coordinate its jobs.
        self.cluster.members["client"].observes = seed % 2 == 1
        self.simulation = self.cluster.simulation
        self.random = self.simulation.random
        self.outcome = Outcome()
        self._running: list[_Running] = []
        # The chance that a losable message gets lost, that something breaks at a step, and how often at most:
        # what hangs must not be ended by the next fault.
        self._breaks = self.random.randint(0, 5)
        self._losable, self._loss, self._losses = self.random.choice(LOSSES)
        # Whether anything was lost or broken, so that data may be left without a job for a while.
        self._disturbed = self._loss > 0
        self._faults = self.random.choice((0.0, 0.0, 0.003, 0.02))
        # The chance that somebody lists all queries after a submission, and the listings begun, by member.
        self._looks = self.random.choice((0.0, 0.0, 0.5))
        self._listings: list[tuple[str, list[JobListing]]] = []
        self.cluster.lost = self._lost

    def _lost(self, sender: str, receiver: str, message: msgspec.Struct) -> bool:
        if not self._losses or not isinstance(message, self._losable) or self.random.random() >= self._loss:
            return False
        self._losses -= 1
        return True

    def run(self) -> Outcome:
        """Let it all happen; raises :class:`Bug`."""
        for _ in range(self.random.randint(1, 4)):
            self._submit()
            if self.random.random() < self._looks:
                self._list()
            for _ in range(self.random.randint(0, 60)):
                self._step()
        while self._running:
            self._step()
        self._check_nothing_is_left()
        self.outcome.steps = self.simulation.steps
        return self.outcome

    def _alive(self) -> list[str]:
        return [name for name in MEMBERS if self.simulation.machines[name].alive]

    def _submit(self) -> None:
        coordinator = self.random.choice(self._alive())
        dag, expected = random_job(self.random.randrange, self.random.random)
        config = JobConfig(timeout=self.random.choice((None, None, 0.01, 5.0)))
        if self.random.random() < INLINE:
            self._run_inline(dag, coordinator, expected, replace(config, inline=True))
            return
        try:
            job = self.cluster.submit(dag, coordinator, config)
        except OperationalError:
            self.outcome.failed += 1
            return
        self._running.append(_Running(job, coordinator, expected, self.simulation.time))

    def _run_inline(self, dag: DAG, coordinator: str, expected: list[int] | None, config: JobConfig) -> None:
        """A small job, which is read at once: meanwhile time passes, messages get lost, connections break."""
        if self._breaks and self.random.random() < 0.2:
            self._breaks -= 1
            self.simulation.at(self.simulation.time + self.random.random() * 0.02, self._cut_something)
        rows: list[int] = []
        with self._noting_hangs(coordinator):
            try:
                job = self.cluster.submit(dag, coordinator, config)
                for batch in job.batches():
                    rows += batch.column(0).to_pylist()
                self._check_answer(job, rows, expected)
            except Error as error:
                self._check_error(error, expected)

    @contextmanager
    def _noting_hangs(self, coordinator: str) -> Iterator[None]:
        """A reader that waits for what never comes would wait in earnest."""
        transport = self.simulation.machines[coordinator].transport

        def attend(
            peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
        ) -> bool:
            if not SimulatedTransport.attend(transport, peers, done, send):
                raise Bug("the reader of a job waits, and nothing will ever happen")
            return True

        transport.attend = attend  # type: ignore[method-assign]
        try:
            yield
        finally:
            del transport.attend

    def _list(self) -> None:
        """Somebody lists the queries of all members, and may cancel one of them."""
        name = self.random.choice(self._alive())
        found: list[JobListing] = []
        self._listings.append((name, found))
        victim = self.random.random()

        def done(listing: JobListing) -> None:
            found.append(listing)
            if listing.jobs and victim < 0.3:
                job = listing.jobs[int(victim / 0.3 * len(listing.jobs))]
                self.cluster.members[name].cancel(job.id, job.coordinator, "chaos")

        self.cluster.members[name].list_jobs(done)

    def _step(self) -> None:
        if not self.simulation.step():
            for running in tuple(self._running):
                self._look(running)
                if running in self._running and not running.slow:
                    raise Bug("a job waits, and nothing will ever happen")
            return
        if self._breaks and self.random.random() < self._faults:
            self._breaks -= 1
            self._break_something()
        for running in tuple(self._running):
            self._look(running)

    def _break_something(self) -> None:
        self._disturbed = True
        fault = self.random.randrange(5)
        name = self.random.choice(self._alive())
        if fault == 0 and len(self._alive()) > 2:
            self.simulation.machines[name].kill()
        elif fault <= 2:
            self._cut_something()
        elif fault == 3:
            self.simulation.machines[name].pause(self.random.choice((0.01, 1.5, 20.0)))
        elif self._running:
            self.random.choice(self._running).job.cancel()

    def _cut_something(self) -> None:
        self._disturbed = True
        connections = self.simulation.connections()
        if connections:
            self.simulation.cut(*self.random.choice(connections))

    def _look(self, running: "_Running") -> None:
        """Read what there is, and see how the job ended."""
        if not self.simulation.machines[running.coordinator].alive:
            self._running.remove(running)
            return
        if self.simulation.time > running.since + 400:
            raise Bug("a job hangs")
        running.slow = self.random.random() < 0.5
        if running.slow:
            return
        try:
            while (batch := running.job.poll()) is not NOTHING:
                if batch is None:
                    self._ended(running)
                    return
                running.rows += batch.column(0).to_pylist()
        except Error as error:
            self._running.remove(running)
            self._check_error(error, running.expected)

    def _ended(self, running: "_Running") -> None:
        self._running.remove(running)
        self._check_answer(running.job, running.rows, running.expected)

    def _check_error(self, error: Error, expected: list[int] | None) -> None:
        if isinstance(error, OperationalError):
            if "lost" in str(error) and not self._disturbed:
                raise Bug(f"nothing was lost, but a job failed with: {error}") from error
            self.outcome.failed += 1
        else:
            if expected is not None or "Division" not in str(error):
                raise Bug(f"a job failed with {type(error).__name__}: {error}") from error
            self.outcome.right += 1

    def _check_answer(self, job: LightJob, rows: list[int], expected: list[int] | None) -> None:
        if job.status is not JobStatus.COMPLETED:
            raise Bug(f"a job whose result has ended is {job.status}")
        if expected is None or sorted(rows) != expected:
            raise Bug(f"a wrong answer: {len(rows)} rows")
        self.outcome.right += 1

    def _check_nothing_is_left(self) -> None:
        self._faults = self._loss = 0.0
        self.simulation.pass_time(30)
        for name, found in self._listings:
            if len(found) != 1 and self.simulation.machines[name].alive:
                raise Bug(f"a listing was answered {len(found)} times")
        early = [name for name in self._alive() if self.cluster.members[name].statistics().early]
        if early and not self._disturbed:
            raise Bug(f"data without a job at {early}")
        self.simulation.pass_time(370)
        left = self.cluster.leftovers(self._alive())
        if left:
            raise Bug(f"left behind: {left}")
        said = len(self.cluster.said)
        self.simulation.pass_time(60)
        if len(self.cluster.said) != said:
            raise Bug("members talk though no job runs")


class _Running(msgspec.Struct):
    """A job, and what it should give (None: division by zero)."""

    job: LightJob
    coordinator: str
    expected: list[int] | None
    since: float
    slow: bool = False
    rows: list[int] = msgspec.field(default_factory=list)


def random_job(pick: Callable[[int], int], chance: Callable[[], float]) -> tuple[DAG, list[int] | None]:
    """A DAG of one or two exchanges, and its rows in order; None if it divides by zero."""
    rows = (0, 7, 90, 300)[pick(4)]
    dag = DAG()
    last = dag.vertex("numbers", Numbers(rows, 3 + pick(20)), 1 + pick(2))
    expected: list[int] | None = list(range(rows))
    for number in range(1 + pick(2)):
        vertex = dag.vertex(f"forward-{number}", Forward(), 1 + pick(3))
        dag.edge(replace(ROUTES[pick(len(ROUTES))](Edge.between(last, vertex)), config=TINY))
        last = vertex
    if chance() < 0.15 and rows:
        fails = dag.vertex("fails", Fails(0), 1)
        dag.edge(Edge.between(last, fails).to_one(pick(271)).distribute_to())
        last, expected = fails, None
    elif chance() < 0.2 and rows:
        first = dag.vertex("first", First(0), 1)
        dag.edge(Edge.between(last, first).to_one().distribute_to())
        last, expected = first, []
    if chance() < 0.3:  # what takes its time on each member, and sends nothing to the coordinator
        local, drain = dag.vertex("local numbers", Numbers(120, 2), 1), dag.vertex("drain", Drain(), 1)
        dag.edge(replace(Edge.between(local, drain), config=EdgeConfig(queue_size=1)))
    result = dag.vertex("result", ResultSink())
    dag.edge(replace(Edge.between(last, result).to_one().distribute_to(), config=TINY))
    return dag, expected


def run_seed(seed: int) -> Outcome:
    """Run one seed; raises :class:`Bug`."""
    return Chaos(seed).run()


def explore(seeds: Iterable[int]) -> tuple[int, Outcome]:
    """Run seeds; a bug names the one that found it."""
    return run_seeds(run_seed, seeds, Outcome())


def summary(total: Outcome) -> str:
    """Return how the jobs of a campaign ended."""
    return f"{total.right} right answers, {total.failed} named errors, {total.steps:,} events"


if __name__ == "__main__":
    sys.exit(campaign(run_seed, seed_parser(__doc__).parse_args(), Outcome(), summary))
