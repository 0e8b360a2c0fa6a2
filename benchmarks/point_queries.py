"""Point and small queries, engines side by side in one run: SQL text in, Python tuples out.

    python -m benchmarks.point_queries [--scale 1] [--subjects sqlfront duckdb-1] [--queries lookup join]

Every subject has a process of its own that holds five tables of TPC-H with the indexes it knows (see
:mod:`benchmarks.point_subjects`) and measures itself, in turns with the others. Each query is asked with new
literals in its text each time, with parameters, and (lookup and join) in a shape that the process has never
seen. Answers are compared with the reference's once. Printed as Markdown: median, p95 and p99 in microseconds
with the ratio of the medians, the goals, and lookups per second from one and from four threads.
"""

import argparse
import json
import os
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.point_report import Figures, Goal, figures, goals_table, rates_table, times_table
from benchmarks.point_subjects import SUBJECTS
from benchmarks.point_workers import Question, Worker, same_rows
from tests.tpch.data import tpch_folder

TURNS = 5
#: Subjects with a twentieth of the runs.
SLOW = ("spark",)
THREADS = (1, 4)


class Way(Enum):
    """The ways of asking a query again."""

    TEXT = "new text"
    """With other literals in the text."""
    PARAMETERS = "prepared"
    """The same text with other parameters."""
    SHAPE = "first sight"
    """With other literals and another column name, so that no cached plan fits."""


@dataclass(frozen=True)
class Query:
    """A query: ``text`` with a ``?`` for each parameter; ``parameters``: the source of each (keys of
    ``orders`` or ``customers``, or the bound of a range of numbers), and the number of values. ``shape``: a
    column name that can be changed, and the goal for a text with a new name."""

    text: str
    parameters: tuple[tuple[str | int, int], ...]
    goal: Goal
    shape: tuple[str, Goal] | None = None

    def draw(self, keys: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
        """Parameters for one run."""
        drawn: list[int] = []
        for source, count in self.parameters:
            pool = range(source) if isinstance(source, int) else keys[source]
            drawn += random.sample(pool, count)
        return tuple(drawn)

    def question(self, way: Way, keys: Mapping[str, Sequence[int]], number: int) -> Question:
        """Text and parameters of the run with the given number."""
        values, text = self.draw(keys), self.text
        if way is Way.PARAMETERS:
            return text, values
        for value in values:
            text = text.replace("?", str(value), 1)
        if way is Way.SHAPE:
            assert self.shape is not None
            text = text.replace(self.shape[0], f"{self.shape[0]}_{number}")
        return text, None

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways of asking the query."""
        return (Way.TEXT, Way.PARAMETERS) if self.shape is None else tuple(Way)

    def goal_of(self, way: Way) -> Goal:
        """The goal for a way of asking."""
        return self.shape[1] if way is Way.SHAPE and self.shape is not None else self.goal


QUERIES = {
    "lookup": Query(
        "SELECT o_custkey AS customer, o_totalprice, o_orderdate FROM orders WHERE o_orderkey = ?",
        (("orders", 1),),
        Goal(50, 0.1, 500),
        ("customer", Goal(1500)),
    ),
    "join": Query(
        "SELECT o_orderdate AS ordered, c_name, l_linenumber, l_extendedprice FROM orders"
        " JOIN customer ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey"
        " WHERE o_orderkey = ?",
        (("orders", 1),),
        Goal(120, 0.1, 500),
        ("ordered", Goal(3000)),
    ),
    "group": Query(
        "SELECT o_orderstatus, count(*), sum(o_totalprice) FROM orders WHERE o_custkey = ?"
        " GROUP BY o_orderstatus",
        (("customers", 1),),
        Goal(150, 0.2, 500),
    ),
    "in": Query(
        f"SELECT o_orderkey, o_totalprice FROM orders WHERE o_orderkey IN ({', '.join('?' * 10)})",
        (("orders", 10),),
        Goal(150, 0.2, 500),
    ),
    "one": Query("SELECT ?", ((1_000_000, 1),), Goal(150, 0.2, 500)),
    "nation": Query(
        "SELECT r_name, count(*) FROM nation JOIN region ON n_regionkey = r_regionkey"
        " WHERE n_nationkey <> ? GROUP BY r_name",
        ((25, 1),),
        Goal(150, 0.2, 500),
    ),
}


def main() -> int:
    options = _options()
    folder = tpch_folder(options.scale)
    keys = sample_keys(folder)
    workers = []
    for name in options.subjects:
        print(f"loading {name} ...", file=sys.stderr, flush=True)
        workers.append(Worker(name, folder))
    try:
        for name in options.queries:
            _compare_answers(name, workers, keys, options.reference)
        measured = {
            (name, way.value): _measure(QUERIES[name], way, workers, keys, options.runs)
            for name in options.queries
            for way in QUERIES[name].ways
        }
        rates = _rates(workers, keys, options.seconds) if "lookup" in options.queries else {}
    finally:
        for worker in workers:
            worker.close()
    goals = {(name, way.value): QUERIES[name].goal_of(way) for name in options.queries for way in Way}
    print(f"TPC-H scale {options.scale}, {options.runs} runs, load {os.getloadavg()[0]:.1f} at the end.\n")
    print(times_table(options.subjects, measured, options.reference))
    if "sqlfront" in options.subjects:
        print("\n" + goals_table(measured, goals, options.reference))
    if rates:
        print("\n" + rates_table(rates, THREADS))
    if options.json:
        Path(options.json).write_text(json.dumps(_raw(measured, rates), indent=1))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", default="1")
    parser.add_argument(
        "--subjects", nargs="+", choices=SUBJECTS, default=[name for name in SUBJECTS if name != "duckdb"]
    )
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=list(QUERIES))
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long lookups per second are counted")
    parser.add_argument("--reference", default="duckdb-1", help="what answers and ratios are against")
    parser.add_argument("--json", help="write all figures to this file")
    return parser.parse_args()


def sample_keys(folder: Path) -> dict[str, Sequence[int]]:
    """A sample of the keys of orders, and the keys of the customers of these orders."""
    orders = pq.read_table(folder / "orders.parquet", columns=["o_orderkey", "o_custkey"])
    sample = orders.take(random.sample(range(orders.num_rows), min(orders.num_rows, 50_000)))
    customers = sample.column("o_custkey").unique()
    return {"orders": sample.column("o_orderkey").to_pylist(), "customers": customers.to_pylist()}


def _compare_answers(
    name: str, workers: Sequence[Worker], keys: Mapping[str, Sequence[int]], reference: str
) -> None:
    """Raise RuntimeError if a subject's answer differs from the reference's (without the reference, from the
    first subject's)."""
    first = next((worker for worker in workers if worker.name == reference), workers[0])
    for way in QUERIES[name].ways:
        question = QUERIES[name].question(way, keys, 0)
        expected = first.answer(question)
        for worker in workers:
            if way is Way.PARAMETERS and worker.name == "polars":
                continue
            answer = worker.answer(question)
            if not same_rows(answer, expected):
                raise RuntimeError(f"{question}: {worker.name} says {answer}, {first.name} {expected}")


def _measure(
    query: Query, way: Way, workers: Sequence[Worker], keys: Mapping[str, Sequence[int]], runs: int
) -> dict[str, Figures]:
    """The figures of each subject, without the first turn. A subject that doesn't support the way has no
    figures."""
    able = [worker for worker in workers if not (way is Way.PARAMETERS and worker.name == "polars")]
    times: dict[str, list[float]] = {worker.name: [] for worker in able}
    number = 0
    print(f"{query.text[:60]} ... ({way.value})", file=sys.stderr, flush=True)
    for turn in range(TURNS + 1):
        for worker in able:
            count = max(3, runs // TURNS // (20 if worker.name in SLOW else 1))
            questions = [query.question(way, keys, number + place) for place in range(1, count + 1)]
            number += count
            measured = worker.times(questions)
            if turn:
                times[worker.name] += measured
    return {name: figures(each) for name, each in times.items()}


def _rates(
    workers: Sequence[Worker], keys: Mapping[str, Sequence[int]], seconds: float
) -> dict[str, dict[tuple[str, int], float]]:
    """Lookups per second by subject, way and number of threads."""
    rates: dict[str, dict[tuple[str, int], float]] = {worker.name: {} for worker in workers}
    for way in (Way.TEXT, Way.PARAMETERS):
        questions = [QUERIES["lookup"].question(way, keys, number) for number in range(20_000)]
        for threads in THREADS:
            for worker in workers:
                if not (way is Way.PARAMETERS and worker.name == "polars"):
                    rates[worker.name][way.value, threads] = worker.rate(questions, threads, seconds)
    return rates


def _raw(
    measured: Mapping[tuple[str, str], Mapping[str, Figures]],
    rates: Mapping[str, Mapping[tuple[str, int], float]],
) -> dict[str, object]:
    return {
        "microseconds": {
            f"{query}, {way}": {name: vars(each) for name, each in by_name.items()}
            for (query, way), by_name in measured.items()
        },
        "lookups per second": {
            name: {f"{way}, {threads} threads": rate for (way, threads), rate in by_way.items()}
            for name, by_way in rates.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
