"""Pipelines on several members, in a simulated cluster: functions travel, rows meet, errors come back."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
import pytest

from sqlfront_cluster.members.protocol.messages import Init
from sqlfront_engine.dag import OnlyOn
from sqlfront_engine.engine import DEFAULT_CONFIG, JobConfig
from sqlfront_engine.processor import ProcessorContext
from sqlfront_planner.pipeline.aggregations import aggregation
from sqlfront_planner.pipeline.endpoints import service, sink, source
from sqlfront_planner.pipeline.plan import Circumstances
from sqlfront_planner.pipeline.stages import Pipeline
from sqlfront_planner.pipeline.steps import OwnerOf
from sqlfront_planner.pipeline.submission import submit
from sqlfront_values.errors import DataError, OperationalError
from sqlfront_values.expressions import Literal, Parameter
from sqlfront_values.types import BIGINT
from tests.cluster.members.cluster import Cluster
from tests.planner.pipeline.pipelines import LICENSE, Rows, counted_words, numbers, rows, words_of

N = pa.field("n", pa.int64())


def run(
    cluster: Cluster,
    pipeline: Pipeline,
    config: JobConfig = DEFAULT_CONFIG,
    *arguments: Literal,
    at: str = "m0",
) -> Rows:
    circumstances = Circumstances(2, arguments, distributed=True)
    return rows(cluster.read(submit(pipeline, cluster.members[at].submit, config, circumstances)))


def expected_words() -> Counter[str]:
    lines = LICENSE.read_text("utf-8").splitlines()
    return Counter(word for line in lines for word in words_of(line) if word)


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("at", ["m0", "client"])
def test_words_are_counted_on_any_number_of_members(members: int, at: str) -> None:
    cluster = Cluster(members, "client")

    counted = run(cluster, counted_words(str(LICENSE)).collect(), at=at)

    assert dict(counted) == expected_words()  # type: ignore[arg-type]
    assert len(counted) == len(expected_words())
    assert cluster.leftovers() == {}


def whereabouts(context: ProcessorContext) -> Iterator[pa.RecordBatch]:
    """Who an instance is, as a row."""
    yield pa.RecordBatch.from_pydict(
        {
            "member": [context.member_index],
            "members": [context.member_count],
            "number": [context.global_index],
            "of": [context.total_parallelism],
            "partitions": [len(context.partitions)],
        }
    )


PLACES = source(
    whereabouts,
    pa.schema([(name, pa.int64()) for name in ("member", "members", "number", "of", "partitions")]),
)


def test_instances_know_their_member_and_their_part() -> None:
    found = run(Cluster(3), Pipeline().read(PLACES, parallelism=2).collect())

    assert [row[:4] for row in sorted(found)] == [
        (member, 3, 2 * member + index, 6) for member in range(3) for index in range(2)
    ]
    assert sum(int(str(row[4])) for row in found) == 271


def test_required_partitions_prune_the_members() -> None:
    cluster = Cluster(3, "client")
    config = JobConfig(required_partitions=frozenset({1, 4}))  # both of m1

    found = run(cluster, Pipeline().read(PLACES).collect(), config, at="client")

    assert [row[:4] for row in found] == [(0, 1, 0, 1)]
    assert {receiver for _, receiver, message in cluster.said if isinstance(message, Init)} == {"m1"}


@pytest.mark.parametrize("value", [5, 6, 7])
def test_a_source_runs_with_the_owner_of_an_argument(value: int) -> None:
    cluster = Cluster(3)
    key = OwnerOf((Parameter(BIGINT, 0),))
    owner = OnlyOn.owner_of([Literal(BIGINT, value)]).partition

    found = run(
        cluster, Pipeline().read(PLACES, only_on=key).collect(), DEFAULT_CONFIG, Literal(BIGINT, value)
    )

    assert [row[1:4] for row in found] == [(1, 0, 1)]
    assert owner is not None
    asked = {receiver for _, receiver, message in cluster.said if isinstance(message, Init)}
    assert asked <= {"m1", "m2"}
    assert cluster.list.owners[owner] in asked | {"m0"}


@pytest.mark.parametrize("place", [OnlyOn(), OnlyOn("m2"), OnlyOn(partition=4)])
def test_a_sink_of_total_parallelism_one_gets_the_rows_of_all_members(place: OnlyOn) -> None:
    cluster = Cluster(3)
    stage = Pipeline().read(numbers(300)).map(lambda n, even: n, N)
    stage.write(sink(_Local().open), only_on=place)

    assert sorted(run(cluster, stage.collect())) == [(n,) for n in range(300)]
    assert (sorted(_Local.seen), len(_Local.opened)) == (list(range(300)), 1)


class _Local:
    """A sink that remembers in this process, though its function travels as a copy."""

    seen: ClassVar[list[int]] = []
    opened: ClassVar[list[int]] = []

    def __init__(self) -> None:
        _Local.seen, _Local.opened = [], []

    def open(self, context: ProcessorContext) -> object:
        _Local.opened.append(context.global_index)
        return _remember


def _remember(batch: pa.RecordBatch) -> None:
    _Local.seen.extend(batch.column(0).to_pylist())


def test_rebalanced_rows_reach_all_members() -> None:
    first = Pipeline().read(numbers(300), only_on=OnlyOn())
    steps = first.rebalance().map_using_service(
        service(lambda context: context.member_index), lambda member, n, even: (member, n), _MEMBER_AND_N
    )

    found = run(Cluster(3), steps.collect())

    assert len(found) == 300
    assert {n for _, n in found} == set(range(300))
    assert {member for member, _ in found} == {0, 1, 2}


_MEMBER_AND_N = pa.schema([("member", pa.int64()), N])


def test_a_join_meets_over_all_members() -> None:
    pipeline = Pipeline()
    left = pipeline.read(numbers(60))
    right = pipeline.read(numbers(40)).map(lambda n, even: (n, str(n)), pa.schema([N, ("text", pa.string())]))

    joined = left.join(right, "n").aggregate(pairs=aggregation("count"), most=aggregation("max", "n"))

    assert run(Cluster(3), joined.collect()) == [(40, 39)]


def test_the_global_aggregate_has_one_row_also_of_no_rows() -> None:
    steps = Pipeline().read(numbers(0)).aggregate(n=aggregation("count"))

    assert run(Cluster(3), steps.collect()) == [(0,)]


def fail_on_another_member(member: int, n: int, even: bool) -> int:
    if member == 2:
        raise ValueError("not here")
    return n


def test_an_error_names_step_function_and_member() -> None:
    steps = (
        Pipeline()
        .read(numbers(300))
        .map_using_service(
            service(lambda context: context.member_index), fail_on_another_member, N, name="look up"
        )
    )
    cluster = Cluster(3)

    with pytest.raises(
        DataError, match="step 'look up', function fail_on_another_member: ValueError"
    ) as caught:
        run(cluster, steps.collect())

    assert (caught.value.vertex, caught.value.member) == ("look up", "m2")
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def test_a_function_that_cannot_be_loaded_elsewhere_is_an_operational_error() -> None:
    steps = Pipeline().read(numbers(300)).map(_Unloadable(), N, name="broken")

    with pytest.raises(OperationalError, match="can't be loaded"):
        run(Cluster(3), steps.collect())


class _Unloadable:
    def __call__(self, n: int, even: bool) -> int:
        return n

    def __reduce__(self) -> tuple[object, ...]:
        return _refuse, ()


def _refuse() -> None:
    raise ModuleNotFoundError("No module named 'elsewhere'")


class _Finishes:
    """A writer that remembers in this process whether it was finished."""

    finished: ClassVar[list[str]] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Nothing is kept."""

    def finish(self) -> None:
        _Finishes.finished.append("finished")

    def close(self) -> None:
        """Nothing is held."""


def _opened(context: ProcessorContext) -> _Finishes:
    return _Finishes()


@pytest.mark.parametrize("seed", range(20))
def test_a_sink_is_not_finished_when_another_member_fails(seed: int) -> None:
    _Finishes.finished.clear()
    steps = (
        Pipeline()
        .read(numbers(300))
        .map_using_service(service(lambda context: context.member_index), fail_on_another_member, N)
    )
    # The rows come from all members; the result's reader is the one who hears of the failure.
    steps.rebalance("n").write(sink(_opened))
    cluster = Cluster(3, seed=seed)

    with pytest.raises(DataError, match="not here"):
        run(cluster, steps.collect())

    cluster.simulation.pass_time(10)
    assert _Finishes.finished == []
    assert cluster.leftovers() == {}
