"""The metrics of a process, made at each scrape."""

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from sqlfront.observability.metrics.tallies import BUCKETS, LaneTally, StatementTallies
from sqlfront.state.plans import Plan
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.member_list import NOBODY
from sqlfront_engine.engine import Engine
from sqlfront_planner.plan_cache import PlanCache

#: The metrics: name, kind, labels, meaning.
METRICS: Final = (
    ("sqlfront_statements", "counter", ("lane", "outcome"), "Statements that have ended."),
    (
        "sqlfront_statement_seconds",
        "histogram",
        ("lane",),
        "Seconds of work on a statement, all phases.",
    ),
    ("sqlfront_statements_running", "gauge", (), "Statements that have not ended, open results included."),
    ("sqlfront_rows_read", "counter", ("lane",), "Rows that statements read from tables."),
    ("sqlfront_bytes_read", "counter", ("lane",), "Bytes of rows that scans read, as Arrow data."),
    ("sqlfront_rows_given", "counter", ("lane",), "Rows that readers of results got."),
    ("sqlfront_rows_written", "counter", ("lane",), "Rows that statements wrote."),
    ("sqlfront_plan_cache_hits", "counter", ("lane",), "Statements whose plan was in the cache."),
    ("sqlfront_plan_cache_misses", "counter", ("lane",), "Statements whose plan was made."),
    ("sqlfront_plan_cache_plans", "gauge", ("member",), "Plans in the cache."),
    ("sqlfront_memory_used_bytes", "gauge", ("member",), "Bytes that operators and memory tables hold."),
    ("sqlfront_memory_peak_bytes", "gauge", ("member",), "The most bytes that they have held."),
    ("sqlfront_memory_limit_bytes", "gauge", ("member",), "Bytes that they may hold."),
    ("sqlfront_jobs", "counter", ("member",), "Parts of jobs that have begun on the member."),
    ("sqlfront_jobs_running", "gauge", ("member",), "Parts of jobs that run on the member."),
    ("sqlfront_queue_bytes", "gauge", ("member",), "Bytes from other members that wait for their consumers."),
    (
        "sqlfront_members",
        "gauge",
        ("member", "role"),
        "Members of the cluster, by role.",
    ),
    ("sqlfront_partitions", "gauge", ("member", "owner"), "Partitions by owner, as the member knows them."),
    ("sqlfront_member_list_version", "gauge", ("member",), "The version of the member list."),
)
_BY_NAME: Final = {name: (kind, labels, help) for name, kind, labels, help in METRICS}

#: The role that the owner of a partition without an owner has in metrics.
_NO_OWNER: Final = "nobody"


class Subject(msgspec.Struct, frozen=True):
    """A source of metrics: an engine or a member, and the plan cache of its session. ``member``: the value of
    the metrics' label ``member``. ``runner`` returns the engine or the member, ``plans`` the plan cache; each
    returns None if the object was freed, and ``plans`` also if there is no session."""

    member: str
    runner: "Callable[[], Engine | Member | None]"
    plans: "Callable[[], PlanCache[Plan] | None]"

    @classmethod
    def of(cls, member: str, runner: Engine | Member, plans: PlanCache[Plan] | None = None) -> "Subject":
        """Return a subject that refers weakly to ``runner`` and ``plans``. ``member``: the value of the
        metrics' label ``member``."""
        return cls(member, weakref.ref(runner), (lambda: None) if plans is None else weakref.ref(plans))


class Collector:
    """The collector that gives prometheus-client the metrics of a process: the counts in ``tallies``, and the
    metrics of the engines and members in ``subjects``. The functions in ``settle`` are called before each
    scrape."""

    def __init__(self, tallies: StatementTallies) -> None:
        self._tallies = tallies
        # Lists that any thread appends to and removes from, finalizers among them; read as copies.
        self.subjects: list[Subject] = []
        #: Called before each scrape.
        self.settle: list[Callable[[], None]] = []

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics with their present values."""
        for settle in self.settle.copy():
            settle()
        yield from self._of_statements()
        yield from self._of_subjects()

    def _of_statements(self) -> Iterator[Metric]:
        lanes = self._tallies.lanes()
        outcomes: dict[tuple[str, ...], float] = {
            (lane, state.value.replace(" ", "_")): count
            for lane, tally in lanes.items()
            for state, count in tally.outcomes.items()
        }
        yield _family("sqlfront_statements", outcomes)
        yield _histogram("sqlfront_statement_seconds", lanes)
        yield _family("sqlfront_statements_running", {(): self._tallies.running})
        counts: dict[str, Callable[[LaneTally], float]] = {
            "sqlfront_rows_read": lambda tally: tally.rows_read,
            "sqlfront_bytes_read": lambda tally: tally.bytes_read,
            "sqlfront_rows_given": lambda tally: tally.rows_given,
            "sqlfront_rows_written": lambda tally: tally.rows_written,
            "sqlfront_plan_cache_hits": lambda tally: tally.plan_hits,
            "sqlfront_plan_cache_misses": lambda tally: tally.plan_misses,
        }
        for name, count in counts.items():
            yield _family(name, {(lane,): count(tally) for lane, tally in lanes.items()})

    def _of_subjects(self) -> Iterator[Metric]:
        values: dict[str, dict[tuple[str, ...], float]] = {}
        for subject in self.subjects.copy():
            runner, plans = subject.runner(), subject.plans()
            if plans is not None:
                values.setdefault("sqlfront_plan_cache_plans", {})[subject.member,] = len(plans)
            if runner is None:
                continue
            engine = runner.engine if isinstance(runner, Member) else runner
            for name, value in _of_engine(engine).items():
                values.setdefault(name, {})[subject.member,] = value
            if isinstance(runner, Member):
                for name, labels, value in _of_member(runner):
                    values.setdefault(name, {})[subject.member, *labels] = value
        for name, found in values.items():
            yield _family(name, found)


def _of_engine(engine: Engine) -> dict[str, float]:
    memory = engine.memory.statistics()
    return {
        "sqlfront_memory_used_bytes": memory.used,
        "sqlfront_memory_peak_bytes": memory.peak,
        "sqlfront_memory_limit_bytes": memory.limit,
        "sqlfront_jobs": engine.submitted,
        "sqlfront_jobs_running": len(engine.executions()),
    }


def _of_member(member: Member) -> Iterator[tuple[str, tuple[str, ...], float]]:
    members = member.members
    waiting = sum(each.waiting for each in member.statistics().receivers)
    yield "sqlfront_queue_bytes", (), waiting
    yield "sqlfront_member_list_version", (), members.version
    for role, count in Counter(each.role for each in members.members).items():
        yield "sqlfront_members", (role,), count
    for owner, count in Counter(members.owners).items():
        yield "sqlfront_partitions", (_NO_OWNER if owner == NOBODY else owner,), count


def _family(name: str, values: dict[tuple[str, ...], float]) -> Metric:
    """Return the metric ``name`` with its values, given by the values of the metric's labels."""
    kind, labels, text = _BY_NAME[name]
    family: CounterMetricFamily | GaugeMetricFamily
    if kind == "counter":
        family = CounterMetricFamily(name, text, labels=labels)
    else:
        family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _histogram(name: str, lanes: dict[str, LaneTally]) -> Metric:
    _, labels, text = _BY_NAME[name]
    family = HistogramMetricFamily(name, text, labels=labels)
    for lane, tally in sorted(lanes.items()):
        family.add_metric((lane,), _buckets(tally.buckets), tally.seconds)
    return family


def _buckets(counts: Sequence[int]) -> list[tuple[str, float]]:
    bounds = [*map(str, BUCKETS), "+Inf"]
    return list(zip(bounds, map(float, accumulate(counts)), strict=True))
