"""Every operator of the house under the hostile harness: one-row and empty batches, an output that refuses,
a consumer that stops early, 50 random orders of its tasklets. What each is for is tested elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlfront_cluster import codec
from sqlfront_cluster.codec import BatchEncoder
from sqlfront_connectors.base import ScanRequest, TableDefinition
from sqlfront_connectors.files.text.text_lines import TextLines
from sqlfront_connectors.memory.exchange.service import EXCHANGE, BeginLoad, Put, RowExchange, StagedRows
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.segment import build_segments
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.backups import BackupTargets
from sqlfront_connectors.memory.spread.move_processors import (
    CopyBackup,
    CopyShare,
    MoveBackup,
    MoveShare,
    MovingRows,
)
from sqlfront_connectors.memory.spread.moves import CopyStep, MoveStep
from sqlfront_connectors.memory.spread.processors import (
    BackupShare,
    ChangeShare,
    MergeShare,
    ShareScan,
    StoreShare,
)
from sqlfront_connectors.memory.spread.share_statistics import report
from sqlfront_connectors.memory.spread.store import STORE, TableStore
from sqlfront_connectors.memory.spread.version_scan import VersionScan
from sqlfront_connectors.registry import create
from sqlfront_engine import shares
from sqlfront_engine.generators import Generator
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import Processor, ProcessorContext
from sqlfront_engine.processors import registry
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.filter import Filter
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.generate import Generate
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.joins.key_filter import KeyFilter
from sqlfront_engine.processors.joins.nested_loop_join import NestedLoopJoin
from sqlfront_engine.processors.limit import Limit
from sqlfront_engine.processors.project import FilterProject, Project
from sqlfront_engine.processors.set_difference import SetDifference
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sort import Sort
from sqlfront_engine.processors.sources.held_rows import HeldBatches, HeldRows
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.processors.sources.scalar_row import ScalarRow
from sqlfront_engine.processors.sources.split_scan import TASK_SPLITS, SplitEnumerator, SplitScan
from sqlfront_engine.processors.sources.values import Values
from sqlfront_engine.processors.spool.spool_scan import SpoolScan
from sqlfront_engine.processors.spool.spool_write import SpoolWrite
from sqlfront_engine.processors.top_n import TopN
from sqlfront_engine.processors.union import Union
from sqlfront_engine.processors.user_code.services import (
    CooperativeMapUsingService,
    MapUsingService,
    MapUsingServiceAsync,
    Service,
)
from sqlfront_engine.processors.user_code.sinks import FunctionSink, LoggerSink, ResourceSink
from sqlfront_engine.processors.user_code.sources import FunctionSource
from sqlfront_engine.processors.user_code.transform import Operation, OperationKind, Transform
from sqlfront_engine.processors.window import Window
from sqlfront_engine.row_actions import RowAction
from sqlfront_engine.spool.spool_file import SpoolSettings
from sqlfront_engine.testing import Batches, batch_of, lone_context, to_physical, verify_processor
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Column,
    FrameUnit,
    Literal,
    SortKey,
    SortOrder,
    WindowCall,
    WindowFrame,
)
from sqlfront_values.types import BIGINT, BOOLEAN, STRING
from sqlfront_values.user_functions import UserFunction
from tests.engine.spool.files import write_spool

SCHEMA = pa.schema([("n", BIGINT), ("s", STRING)])
ROWS: list[tuple[object, ...]] = [(1, "a"), (2, "b"), (None, "a"), (3, None), (2, "b"), (5, "é")]
BATCH = batch_of(SCHEMA, ROWS)
PHYSICAL = to_physical(BATCH)
N, S = Column(BIGINT, 0, "n"), Column(STRING, 1, "s")
IS_TWO = Call(BOOLEAN, "equal", (N, Literal(BIGINT, 2)))
SERVICE = Service(UserFunction(lambda context: "service"))
TWOS = [(2, "b"), (2, "b")]


async def awaited(service: object, n: int | None, s: str | None) -> tuple[int | None, str | None]:
    return n, s


class Example(msgspec.Struct):
    """An operator, what it takes and what it gives; resources that its context needs, made anew each time."""

    processor: Processor
    inputs: Sequence[Sequence[pa.RecordBatch]]
    expected: Sequence[Sequence[object]]
    resources: Callable[[], Mapping[str, object]] = dict

    def context(self) -> ProcessorContext:
        """A context of a member with a partition, with the example's resources, and with a share for the
        operators that want one."""
        return msgspec.structs.replace(
            lone_context(),
            partitions=(0,),
            resources=self.resources(),
            share=shares.SharedObject("tested", 1),
        )


def engine_examples() -> list[Example]:
    counted = pa.schema([("s", STRING), ("c", BIGINT)])
    numbered = pa.schema([*SCHEMA, ("c", BIGINT)])
    count = AggregateCall("count", (), BIGINT)
    whole = WindowFrame(FrameUnit.ROWS, None, None)
    return [
        Example(
            Aggregate((1,), (count,), AggregateMode.SINGLE, counted),
            [[BATCH]],
            [("a", 2), ("b", 2), (None, 1), ("é", 1)],
        ),
        Example(Batches("rows"), [], ROWS, lambda: {"rows": [PHYSICAL]}),
        Example(Filter(IS_TWO), [[BATCH]], TWOS),
        Example(FilterProject(IS_TWO, (N, S), SCHEMA), [[BATCH]], TWOS),
        Example(Forward(), [[BATCH]], ROWS),
        Example(
            HashJoin(JoinKind.INNER, (0,), (0,), None, SCHEMA, SCHEMA),
            [[BATCH], [BATCH]],
            [(*left, *right) for left in ROWS for right in ROWS if left[0] == right[0] is not None],
        ),
        Example(
            HeldRows("held", "h", (1, 0)),
            [],
            [(s, n) for n, s in ROWS],
            lambda: {"held": HeldBatches((PHYSICAL, PHYSICAL.slice(0, 0)))},
        ),
        Example(KeyFilter(IS_TWO, (N, S), (0,), (0,), SCHEMA), [[BATCH], [BATCH]], TWOS),
        Example(Limit(4, 1), [[BATCH]], ROWS[1:5]),
        Example(
            NestedLoopJoin(JoinKind.INNER, None, SCHEMA, SCHEMA),
            [[BATCH], [BATCH]],
            [(*left, *right) for left in ROWS for right in ROWS],
        ),
        Example(Project((N, S), SCHEMA), [[BATCH]], ROWS),
        Example(Range(0, 3, 5), [], [(0,), (3,), (6,), (9,), (12,)]),
        Example(ResultSink(), [[BATCH]], ROWS),
        Example(ScalarRow(SCHEMA), [[BATCH.slice(1, 1)]], [(2, "b")]),
        Example(SetDifference("intersect"), [[BATCH], [BATCH.slice(0, 3)]], ROWS[:3]),
        Example(Sort((SortKey(0),)), [[BATCH]], ROWS),
        Example(
            SplitScan("s", "t", (1, 0)),
            [],
            [(s, n) for n, s in ROWS],
            lambda: {"s": OneSplit(), TASK_SPLITS: OneSplit()},
        ),
        Example(TopN((SortKey(0, SortOrder.DESCENDING),), 2, 1), [[BATCH]], [(3, None), (2, "b")]),
        Example(Union(("n", "s")), [[BATCH], [BATCH]], ROWS + ROWS),
        Example(Values(SCHEMA, tuple((Literal(BIGINT, n), Literal(STRING, s)) for n, s in ROWS)), [], ROWS),
        Example(
            Generate(Generator.STACK, (N, N), outer=False, width=2, columns=1, output=(2, 1), schema=SCHEMA),
            [[BATCH]],
            [row for row in ROWS for _ in range(2)],
        ),
        Example(
            Generate(
                Generator.EXPLODE,
                (Call(pa.list_(BIGINT), "array", (N, N, N)),),
                outer=True,
                width=2,
                columns=1,
                output=(2, 1),
                schema=SCHEMA,
            ),
            [[BATCH]],
            [row for row in ROWS for _ in range(3)],
        ),
        Example(
            Window((1,), (), (WindowCall("count", (N,), BIGINT, whole),), numbered),
            [[BATCH]],
            [(*row, sum(n is not None for n, s in ROWS if s == row[1])) for row in ROWS],
        ),
    ]


def user_examples() -> list[Example]:
    keep = UserFunction(lambda service, n, s: (n, s))
    mapped = (Operation(OperationKind.MAP, "map", UserFunction(lambda n, s: (n, s)), SCHEMA),)
    opens = SimpleNamespace(open=lambda context: _Ignores())
    return [
        Example(Transform(SCHEMA, mapped), [[BATCH]], ROWS),
        Example(MapUsingService(SERVICE, keep, SCHEMA, SCHEMA), [[BATCH]], ROWS),
        Example(CooperativeMapUsingService(SERVICE, keep, SCHEMA, SCHEMA), [[BATCH]], ROWS),
        Example(MapUsingServiceAsync(SERVICE, UserFunction(awaited), SCHEMA, SCHEMA, 3), [[BATCH]], ROWS),
        Example(FunctionSource(SCHEMA, UserFunction(lambda context: iter([BATCH]))), [], ROWS),
        Example(FunctionSink(SCHEMA, UserFunction(lambda context: _Ignores())), [[BATCH]], []),
        Example(LoggerSink(SCHEMA), [[BATCH]], []),
        Example(ResourceSink(SCHEMA, "sink"), [[BATCH]], [], lambda: {"sink": opens}),
    ]


class _Ignores:
    """A writer that takes everything."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take the batch."""

    def finish(self) -> None:
        """There is nothing to finish."""

    def close(self) -> None:
        """There is nothing to close."""


def spool_examples(folder: Path) -> list[Example]:
    stored = [(PHYSICAL, 0), (PHYSICAL.slice(0, 2), 1), (PHYSICAL, 2)]
    return [
        Example(SpoolScan((write_spool(folder, stored, 3),), 0, 2), [], ROWS + ROWS[:2]),
        Example(
            SpoolWrite(str(folder / "written.arrow"), (0,), 3, "report", SpoolSettings(fsync=False)),
            [[BATCH]],
            [],
            lambda: {"report": []},
        ),
    ]


class OneSplit:
    """A source with one split, and the splits of a task that reads it."""

    def __init__(self) -> None:
        self._left = [b"all"]

    def enumerator(self) -> SplitEnumerator:
        raise NotImplementedError

    def next_split(self, vertex: str) -> bytes | None:
        return self._left.pop() if self._left else None

    def read(self, split: bytes) -> list[pa.RecordBatch]:
        return [PHYSICAL]


class OneHolder:
    """A version of a spread table of which one member has all rows."""

    holders = ("embedded-0",)

    def read(self, holder: str, request: ScanRequest) -> list[pa.RecordBatch]:
        return [BATCH]


def connector_examples(folder: Path) -> list[Example]:
    segments = build_segments([BATCH], SCHEMA, None)
    pq.write_table(pa.Table.from_batches([BATCH]), folder / "rows.parquet")
    table = create("parquet", TableDefinition("rows", location=str(folder)))
    (folder / "lines.txt").write_text("one\ntwo\n")
    # Numbers only: bytes and distinct values of strings depend on how they happen to be encoded.
    numbers, alone = BATCH.select(["n"]), pa.schema([SCHEMA.field("n")])
    whole = build_segments([numbers], alone, None)
    left = TableShare(alone, None, merged([whole[0].without(np.array([0, 2], np.int64))], alone, None))
    acted = batch_of(
        pa.schema([("n", pa.int32()), ("number", pa.int64()), ("action", pa.int8())]),
        [(None, 0, RowAction.DELETE), (None, 2, RowAction.DELETE), (None, 1, RowAction.KEEP)],
    )
    merged_once = report(left, 2)
    stored, changed = report(TableShare(alone, segments=whole), numbers.num_rows), report(left, 0)
    return [
        Example(MemoryScan("m", "t", (0, 1)), [], ROWS, lambda: {"m": TableShare(SCHEMA, None, segments)}),
        Example(
            ShareScan("m", "t", (0, 1)),
            [],
            ROWS,
            lambda: {STORE: store_with("m", TableShare(SCHEMA, None, segments))},
        ),
        Example(VersionScan("m", "t", (0, 1)), [], ROWS, lambda: {"m": OneHolder()}),
        Example(
            StoreShare("t", "t@1", None, alone),
            [[numbers]],
            [tuple(column.to_pylist()[0] for column in stored.columns)],
            lambda: {STORE: TableStore()},
        ),
        Example(
            BackupShare("t", "t@1", None, alone, held=BackupTargets(("other",), ("here",), (0,))),
            [[BackupTargets(("other",), ("here",), (0,)).addressed(numbers, 0)]],
            [tuple(column.to_pylist()[0] for column in stored.columns)],
            lambda: {STORE: TableStore("here")},
        ),
        Example(
            ChangeShare("t", "t@2", "t@1", alone),
            [[pa.record_batch([pa.array([0, 2])], ["number"])]],
            [tuple(column.to_pylist()[0] for column in changed.columns)],
            lambda: {STORE: store_with("t@1", TableShare(alone, None, whole))},
        ),
        Example(
            MergeShare("t", "t@2", "t@1", alone),
            [[acted]],
            [tuple(column.to_pylist()[0] for column in merged_once.columns)],
            lambda: {STORE: store_with("t@1", TableShare(alone, None, whole))},
        ),
        Example(StagedRows("l", "t", (("", ("a",), len(ROWS)),)), [], ROWS, lambda: staged(PHYSICAL, SCHEMA)),
        Example(table.snapshot().scan(ScanRequest((0, 1))).source, [], ROWS),
        Example(
            TextLines(pa.schema([("line", STRING)]), (str(folder / "lines.txt"),)), [], [("one",), ("two",)]
        ),
    ]


def move_examples() -> list[Example]:
    """Steps that move the second half of a share's rows to the member ``there``, and that copy the share to
    the member ``there``, for which the share is written without its deleted rows."""
    numbers, schema = BATCH.select(["n"]), pa.schema([SCHEMA.field("n")])
    segments = build_segments([numbers], schema, None)
    before = TableShare(schema, None, segments)
    less = TableShare(schema, None, (segments[0].without(np.array([0, 1, 2], np.int64)),))
    move, copy = MoveStep(("here", "here"), ("there",), (1,), (7,)), CopyStep(("here",), ("here",))
    held = BackupTargets(("here",), ("there",), (5,))
    homed = numbers.append_column("home", pa.array([7] * len(ROWS)))
    left = TableShare(schema, None, (segments[0].without(np.array([3, 4, 5], np.int64)),))
    rest = batch_of(schema, [row[:1] for row in ROWS[3:]])
    copied = rest.append_column("segment", pa.array([0] * 3))
    fewer = TableShare(schema, None, build_segments([rest], schema, None))
    return [
        Example(
            MovingRows("t", "t@1", move),
            [],
            [(row[0], 7) for row in ROWS[3:]],
            lambda: {STORE: store_with("t@1", before, "here")},
        ),
        Example(
            MoveShare("t", "t@2", "t@1", schema, step=move),
            [[homed]],
            [report_row(before, len(ROWS))],
            lambda: {STORE: store_with("t@1", TableShare(schema, None, ()), "there")},
        ),
        Example(
            MoveBackup("t", "t@2", "t@1", schema, held=held, step=move),
            [[]],
            [report_row(left, 0)],
            lambda: {STORE: store_with("t@1", before, "there", of="here")},
        ),
        Example(
            CopyShare("t", "t@2", "t@1", schema, targets=held, step=copy),
            [],
            [(0, 5, row[0], 0) for row in ROWS[3:]],
            lambda: {STORE: store_with("t@1", less, "here")},
        ),
        Example(
            CopyBackup("t", "t@2", "t@1", schema, held=held, step=copy),
            [[held.addressed(copied, 0)]],
            [report_row(fewer, 3)],
            lambda: {STORE: store_with("t@1", before, "there")},
        ),
    ]


def report_row(share: TableShare, written: int) -> tuple[object, ...]:
    """What a member reports of a share."""
    return tuple(column.to_pylist()[0] for column in report(share, written).columns)


def store_with(key: str, share: TableShare, member: str = "", of: str | None = None) -> TableStore:
    """A member's store with one share, or with a backup of the share of the member ``of``."""
    store = TableStore(member)
    store.stage(key, share, of)
    return store


def staged(batch: pa.RecordBatch, schema: pa.Schema) -> dict[str, object]:
    """What a member has when the attempt ``a`` of the load ``l`` has brought the batch."""
    exchange = RowExchange(TableStore())
    encoded = BatchEncoder().encode(batch)
    body = pa.py_buffer(b"".join(map(bytes, encoded.body)))
    exchange.answer(codec.encode(BeginLoad("l", "t", schema, 0, "holder")))
    exchange.exchange(codec.encode(Put("l", "a", encoded.schema)), body)
    return {STORE: TableStore(), EXCHANGE: exchange}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Example]:
    folder = tmp_path_factory.mktemp("tables")
    every = [
        *engine_examples(),
        *user_examples(),
        *spool_examples(folder / "spool"),
        *connector_examples(folder),
        *move_examples(),
    ]
    return {type(example.processor).__name__: example for example in every}


HOUSE = sorted(tag for tag, place in registry._PLACES.items() if place.startswith("sqlfront_"))


@pytest.mark.parametrize("name", HOUSE)
def test_the_operator_gives_the_same_rows_in_every_order(examples: dict[str, Example], name: str) -> None:
    """A registered operator without an example fails here."""
    example = examples[name]

    verify_processor(example.processor, example.inputs, example.expected, context=example.context)
