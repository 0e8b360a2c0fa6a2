"""What each step of a pipeline does to rows."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_connectors.arrow import ArrowTable
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.user_code.services import ServiceScope
from sqlfront_planner.pipeline.aggregations import aggregation
from sqlfront_planner.pipeline.endpoints import service, sink, source
from sqlfront_planner.pipeline.stages import Pipeline
from sqlfront_planner.pipeline.steps import JoinName
from tests.planner.pipeline.pipelines import Rows, numbers, run, run_out, table

N = pa.field("n", pa.int64())
Key = tuple[object, ...]


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=repr)


def test_map_gives_a_value_for_one_column() -> None:
    assert sorted(run(Pipeline().read(numbers(3)).map(lambda n, even: n * 10, N).collect())) == [
        (0,),
        (10,),
        (20,),
    ]


def test_map_gives_a_tuple_for_several_columns() -> None:
    output = pa.schema([("text", pa.string()), ("price", pa.decimal128(8, 2))])
    steps = Pipeline().read(numbers(2)).map(lambda n, even: (str(n), Decimal(n) / 4), output)

    assert sorted(run(steps.collect())) == [("0", Decimal("0.00")), ("1", Decimal("0.25"))]


def test_filter_keeps_what_is_true() -> None:
    assert run(Pipeline().read(numbers(9)).filter(lambda n, even: n == 4).collect()) == [(4, True)]


def test_flat_map_gives_any_number_of_rows() -> None:
    steps = Pipeline().read(numbers(3)).flat_map(lambda n, even: range(n), N)

    assert sorted(run(steps.collect())) == [(0,), (0,), (1,)]


def test_map_batches_sees_logical_types() -> None:
    output = pa.schema([("d", pa.decimal128(8, 2))])

    def half(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert batch.schema == output
        return batch

    steps = Pipeline().read(numbers(4)).map(lambda n, even: Decimal(n), output[0]).map_batches(half, output)
    assert sorted(run(steps.collect())) == [(Decimal(n),) for n in range(4)]


def test_map_batches_may_give_no_rows() -> None:
    assert run(Pipeline().read(numbers(4)).map_batches(lambda batch: None, N).collect()) == []


def test_values_between_fused_steps_are_of_the_stated_types() -> None:
    steps = Pipeline().read(numbers(1)).map(lambda n, even: 7, pa.field("x", pa.float64()))

    result = run(steps.map(lambda x: type(x).__name__, pa.field("kind", pa.string())).collect())

    assert result == [("float",)]


def test_nulls_come_as_none_and_go_as_none() -> None:
    steps = Pipeline().read(table(n=[1, None])).map(lambda n: None if n is None else n + 1, N)

    assert ordered(run(steps.collect())) == [(2,), (None,)]


def test_grouping_takes_null_as_a_key() -> None:
    steps = Pipeline().read(table(k=["a", None, "a", None], v=[1, 2, 3, None])).group_by("k")
    calls = {
        "rows": aggregation("count"),
        "values": aggregation("count", "v"),
        "total": aggregation("sum", "v"),
        "least": aggregation("min", "v"),
        "most": aggregation("max", "v"),
        "mean": aggregation("avg", "v"),
        "all": aggregation("collect_list", "v"),
    }

    grouped = steps.aggregate(**calls)  # type: ignore[arg-type]
    assert ordered(run(grouped.collect())) == [
        ("a", 2, 2, 4, 1, 3, 2.0, [1, 3]),
        (None, 2, 1, 2, 2, 2, 2.0, [2]),
    ]


def test_distinct_and_conditional_aggregations() -> None:
    steps = Pipeline().read(table(v=[1, 1, 2], good=[True, False, True]))

    distinct = steps.aggregate(n=aggregation("count", "v", distinct=True)).collect()
    assert run(distinct) == [(2,)]
    steps = Pipeline().read(table(v=[1, 1, 2], good=[True, False, True]))
    assert run(steps.aggregate(n=aggregation("count", where="good")).collect()) == [(2,)]


def test_no_rows_make_one_row_without_keys_and_none_with() -> None:
    assert run(Pipeline().read(numbers(0)).aggregate(n=aggregation("count")).collect()) == [(0,)]
    assert run(Pipeline().read(numbers(0)).group_by("n").aggregate(c=aggregation("count")).collect()) == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("inner", [(1, "a", 1, "x")]),
        ("left", [(1, "a", 1, "x"), (2, "b", None, None), (None, "c", None, None)]),
        ("right", [(1, "a", 1, "x"), (None, None, 3, "y"), (None, None, None, "z")]),
        ("semi", [(1, "a")]),
        ("anti", [(2, "b"), (None, "c")]),
    ],
)
def test_joins(kind: JoinName, expected: Rows) -> None:
    pipeline = Pipeline()
    left = pipeline.read(table(k=[1, 2, None], v=["a", "b", "c"]))
    right = pipeline.read(table(k=[1, 3, None], v=["x", "y", "z"]))
    joined = left.join(right, "k", kind=kind)

    assert joined.schema.names == (["k", "v", "k_right", "v_right"] if len(expected[0]) == 4 else ["k", "v"])
    assert ordered(run(joined.collect())) == ordered(expected)


@pytest.mark.parametrize("columns", [(), ("even",)])
def test_rebalancing_loses_and_doubles_nothing(columns: tuple[str, ...]) -> None:
    steps = Pipeline().read(numbers(100)).rebalance(*columns).map(lambda n, even: n, N)

    assert sorted(run(steps.collect())) == [(n,) for n in range(100)]


@pytest.mark.parametrize("workers", [1, 4])
def test_preserved_order_holds_from_a_source_of_one_instance(workers: int) -> None:
    steps = Pipeline(preserve_order=True).read(numbers(500, size=3), parallelism=1)
    steps = steps.map(lambda n, even: n, N).filter(lambda n: n % 2).flat_map(lambda n: (n, n), N)

    assert run(steps.collect(), workers=workers) == [(n,) for n in range(500) if n % 2 for _ in range(2)]


def test_a_table_is_read() -> None:
    rows = ArrowTable("t", pa.table({"n": [1, 2], "price": pa.array([Decimal("1.50"), None])}))

    assert run(Pipeline().read(rows).collect()) == [(1, Decimal("1.50")), (2, None)]


def test_a_pipeline_may_have_several_sinks() -> None:
    seen: list[int] = []
    stage = Pipeline().read(numbers(30)).map(lambda n, even: n, N)
    stage.write(sink(lambda context: lambda batch: seen.extend(batch.column(0).to_pylist())))

    assert sorted(run(stage.collect())) == [(n,) for n in sorted(seen)] == [(n,) for n in range(30)]


# ---- services


def test_a_service_is_opened_once_for_a_member_and_closed() -> None:
    calls: list[str] = []

    def opened(context: ProcessorContext) -> int:
        calls.append(context.vertex)
        return 100

    shared = service(opened, lambda value: calls.append(f"close {value}"))
    steps = (
        Pipeline()
        .read(numbers(90))
        .map_using_service(shared, lambda value, n, even: value + n, N, parallelism=3)
    )

    assert sorted(run(steps.collect())) == [(100 + n,) for n in range(90)]
    assert calls == ["map-using-service", "close 100"]


def test_a_blocking_service_has_threads_of_its_own() -> None:
    def thread(value: object, n: int, even: bool) -> str:
        return threading.current_thread().name

    def names(*, blocking: bool) -> set[str]:
        steps = (
            Pipeline()
            .read(numbers(90))
            .map_using_service(
                service(lambda context: None), thread, pa.field("t", pa.string()), blocking=blocking
            )
        )
        return {str(name).rpartition("-")[0] for (name,) in run(steps.collect())}

    assert names(blocking=True) == {"sqlfront-dedicated"}
    assert names(blocking=False) == {"sqlfront-worker"}


def test_awaited_calls_overlap_up_to_their_concurrency_and_keep_the_order() -> None:
    under_way = Counter[str]()

    async def call(value: object, n: int, even: bool) -> int:
        under_way["now"] += 1
        under_way["most"] = max(under_way["most"], under_way["now"])
        for _ in range(30 - n):  # the first ones take longest
            await asyncio.sleep(0)
        under_way["now"] -= 1
        return n

    steps = (
        Pipeline(preserve_order=True)
        .read(numbers(30))
        .map_using_service_async(service(lambda context: None), call, N, concurrency=5)
    )

    assert run(steps.collect()) == [(n,) for n in range(30)]
    assert under_way["most"] == 5


def test_an_awaited_service_may_be_opened_and_closed_by_coroutines() -> None:
    closed: list[object] = []

    async def opened(context: ProcessorContext) -> str:
        return "open"

    async def close(value: object) -> None:
        closed.append(value)

    async def call(value: str, n: int, even: bool) -> str:
        return value

    steps = (
        Pipeline()
        .read(numbers(3))
        .map_using_service_async(
            service(opened, close, scope=ServiceScope.INSTANCE), call, pa.field("s", pa.string())
        )
    )

    assert run(steps.collect()) == [("open",)] * 3
    assert closed == ["open"]


# ---- sources and sinks


def test_instances_of_a_source_know_their_places() -> None:
    seen = set()

    def read(context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        seen.add((context.local_index, context.total_parallelism, context.partitions[:2]))
        yield pa.RecordBatch.from_pydict({"n": [context.global_index]})

    steps = Pipeline().read(source(read, pa.schema([N])), parallelism=3)

    assert sorted(run(steps.collect())) == [(0,), (1,), (2,)]
    assert seen == {(0, 3, (0, 3)), (1, 3, (1, 4)), (2, 3, (2, 5))}


class Writes:
    """Remembers what is done with it."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def write(self, batch: pa.RecordBatch) -> None:
        self.said.append(f"{batch.num_rows} rows")

    def finish(self) -> None:
        self.said.append("finish")

    def close(self) -> None:
        self.said.append("close")
        raise OSError("too late to matter")


def test_a_sink_is_finished_and_closed_and_what_close_raises_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said: list[str] = []

    run_out(Pipeline().read(numbers(10)).write(sink(lambda context: Writes(said))))

    assert said == ["10 rows", "finish", "close"]
    assert "closing sink failed" in caplog.text
