"""What user code raises, and what it gives that doesn't fit, names its step, function and member."""

import asyncio
import datetime
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.user_code.services import MapUsingService, MapUsingServiceAsync, Service
from sqlfront_engine.processors.user_code.sinks import FunctionSink
from sqlfront_engine.processors.user_code.sources import FunctionSource
from sqlfront_engine.processors.user_code.transform import Operation, OperationKind, Transform
from sqlfront_engine.testing.harness import Batches
from sqlfront_values.errors import (
    DatabaseError,
    DataError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
)
from sqlfront_values.user_functions import UserFunction

ROWS = pa.schema({"n": pa.int64()})
BATCH = pa.RecordBatch.from_pydict({"n": [1, 2]})


def run(processor: Processor, *, source: bool = False) -> list[pa.RecordBatch]:
    """What one instance, named `tested`, makes of two rows."""
    dag = DAG()
    tested = dag.vertex("tested", processor, 1)
    if not source:
        dag.edge(Edge.between(dag.vertex("rows", Batches("rows"), 1), tested))
    dag.edge(Edge.between(tested, dag.vertex("result", ResultSink())))
    with Engine(workers=1) as engine:
        return list(engine.run(dag, JobConfig(resources={"rows": [BATCH]}, inline=True)).batches())


def transform(
    function: Callable[..., object], kind: OperationKind = OperationKind.MAP, output: pa.Schema = ROWS
) -> Transform:
    return Transform(ROWS, (Operation(kind, "a step", UserFunction(function), output),))


def divide(*values: object) -> object:
    return 1 // 0


def disconnect(*values: object) -> object:
    raise ConnectionError("gone")


def refuse(*values: object) -> object:
    raise NotSupportedError("mine")


async def divide_later(*values: object) -> object:
    return 1 // 0


def broken_source(context: object) -> Iterator[pa.RecordBatch]:
    yield BATCH
    raise ConnectionError("gone")


NONE = Service(UserFunction(lambda context: None))
IN_STEPS = [transform(divide, kind) for kind in OperationKind]


@pytest.mark.parametrize("processor", IN_STEPS, ids=[kind.value for kind in OperationKind])
def test_an_error_of_a_function_is_a_data_error_with_its_place(processor: Processor) -> None:
    with pytest.raises(DataError) as caught:
        run(processor)

    assert caught.value.message.startswith("step 'a step', function divide: ZeroDivisionError: ")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (caught.value.vertex, caught.value.member) == ("tested", "embedded")


@pytest.mark.parametrize(
    "processor",
    [
        MapUsingService(NONE, UserFunction(divide), ROWS, ROWS),
        MapUsingServiceAsync(NONE, UserFunction(divide_later), ROWS, ROWS, 2),
        MapUsingService(Service(UserFunction(divide)), UserFunction(len), ROWS, ROWS),
        FunctionSink(ROWS, UserFunction(divide)),
        FunctionSink(ROWS, UserFunction(lambda context: divide)),
    ],
    ids=["service", "awaited", "opening", "sink", "writing"],
)
def test_so_is_one_of_a_service_or_a_sink(processor: Processor) -> None:
    with pytest.raises(DataError, match=r"step 'tested', function .*: ZeroDivisionError"):
        run(processor)


def test_what_the_world_refuses_is_an_operational_error() -> None:
    with pytest.raises(OperationalError, match="function disconnect: ConnectionError: gone"):
        run(transform(disconnect))
    with pytest.raises(OperationalError, match="function broken_source: ConnectionError: gone"):
        run(FunctionSource(ROWS, UserFunction(broken_source)), source=True)


def test_a_call_that_is_cancelled_by_itself_fails_the_job() -> None:
    async def cancelled(*values: object) -> object:
        raise asyncio.CancelledError

    with pytest.raises(OperationalError, match="CancelledError"):
        run(MapUsingServiceAsync(NONE, UserFunction(cancelled), ROWS, ROWS, 2))


def test_a_shared_service_is_not_opened_by_a_coroutine() -> None:
    async def opened(context: object) -> object:
        return None

    with pytest.raises(InterfaceError, match=r"Scope\.INSTANCE"):
        run(MapUsingServiceAsync(Service(UserFunction(opened)), UserFunction(len), ROWS, ROWS, 2))


def test_an_inline_job_awaits_nothing_where_an_event_loop_runs() -> None:
    async def read() -> None:
        run(MapUsingServiceAsync(NONE, UserFunction(divide_later), ROWS, ROWS, 2))

    with pytest.raises(InterfaceError, match="event loop runs"):
        asyncio.run(read())


def test_the_concurrency_is_positive() -> None:
    with pytest.raises(InterfaceError, match="must be positive, not 0"):
        MapUsingServiceAsync(NONE, UserFunction(len), ROWS, ROWS, 0)


def test_an_error_of_ours_keeps_its_class() -> None:
    with pytest.raises(NotSupportedError, match="mine") as caught:
        run(transform(refuse))

    assert "step 'a step', function refuse" in "".join(caught.value.__notes__)


def a_batch(**columns: Iterable[object]) -> Callable[[object], pa.RecordBatch]:
    return lambda batch: pa.RecordBatch.from_pydict({name: list(values) for name, values in columns.items()})


MAP, FLAT_MAP, BATCHES = OperationKind.MAP, OperationKind.FLAT_MAP, OperationKind.MAP_BATCHES
TWO = pa.schema({"a": pa.int64(), "b": pa.int64()})


@pytest.mark.parametrize(
    ("function", "kind", "output", "message"),
    [
        (lambda n: 1.5, MAP, ROWS, "1.5 is not a value of type bigint"),
        (
            lambda n: [1.5],
            MAP,
            pa.schema({"n": pa.list_(pa.int64())}),
            r"\[1.5\] is not a value of type array<bigint>",
        ),
        (
            lambda n: datetime.datetime(2020, 1, 1),
            MAP,
            pa.schema({"n": pa.date32()}),
            "is not a value of type date",
        ),
        (
            lambda n: Decimal("1.234"),
            MAP,
            pa.schema({"n": pa.decimal128(5, 2)}),
            "is not a value of type decimal",
        ),
        (
            lambda n: Decimal(1000),
            MAP,
            pa.schema({"n": pa.decimal128(5, 2)}),
            "is not a value of type decimal",
        ),
        (lambda n: "1", MAP, ROWS, "'1' is not a value of type bigint"),
        (lambda n: 1 << 63, MAP, ROWS, "9223372036854775808 is not a value of type bigint"),
        (lambda n: 128, MAP, pa.schema({"n": pa.int8()}), "128 is not a value of type tinyint"),
        (lambda n: n, MAP, pa.schema({"n": pa.string()}), "1 is not a value of type string"),
        (lambda n: "\ud800", MAP, pa.schema({"n": pa.string()}), "is not a value of type string"),
        (lambda n: n, MAP, TWO, "2 values are expected, as a tuple, not 1"),
        (lambda n: (n,), MAP, TWO, r"2 values are expected, as a tuple, not \(1,\)"),
        (lambda n: "two", FLAT_MAP, ROWS, "an iterable of rows is expected, not 'two'"),
        (lambda n: n, FLAT_MAP, ROWS, "an iterable of rows is expected, not 1"),
        (lambda batch: [1], BATCHES, ROWS, "a pa.RecordBatch is expected, not a list"),
        (a_batch(m=[1]), BATCHES, ROWS, "a batch has the columns m, not n"),
        (a_batch(n=["1"]), BATCHES, ROWS, "column 'n' is string, not bigint"),
    ],
)
def test_what_does_not_fit_the_stated_type_is_refused(
    function: Callable[..., object], kind: OperationKind, output: pa.Schema, message: str
) -> None:
    with pytest.raises(DatabaseError, match=f"step 'a step', function .*: .*{message}") as caught:
        run(transform(function, kind, output))

    assert isinstance(caught.value, DataError)
