"""The sink into a spool file, and the source of spool files."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec
import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.file_access import NOWHERE
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.spool.spool_scan import SpoolScan
from sqlfront_engine.processors.spool.spool_write import DEALT_ROWS, SpoolWrite
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.spool.spool_file import SpoolFile, SpoolSettings
from sqlfront_engine.testing import (
    Batches,
    batch_of,
    lone_context,
    rows_of,
    run_dag,
    run_processor,
    verify_processor,
)
from sqlfront_values.columns.batches import slices
from sqlfront_values.errors import InternalError, OperationalError, ProgrammingError
from sqlfront_values.partitioning.partitions import partition_ids
from sqlfront_values.types import BIGINT, DOUBLE, STRING
from tests.engine.spool.files import NAME, names, stored_rows, write_spool

SCHEMA = pa.schema([("n", BIGINT), ("s", STRING)])
ROWS: list[tuple[object, ...]] = [(1, "a"), (2, "b"), (None, "a"), (3, None), (2, "b"), (5, "é"), (None, "c")]
BATCH = batch_of(SCHEMA, ROWS)


def reporting(report: list[SpoolFile]) -> ProcessorContext:
    return msgspec.structs.replace(lone_context(), resources={"report": report})


def write(
    folder: Path,
    batches: Sequence[pa.RecordBatch],
    keys: tuple[int, ...] = (),
    buckets: int = 1,
    name: str = NAME,
    schema: pa.Schema = SCHEMA,
) -> SpoolFile:
    report: list[SpoolFile] = []
    sink = SpoolWrite(str(folder / name), keys, buckets, "report")
    assert run_processor(sink, [batches], context=reporting(report)) == []
    (file,) = report
    return file


def run_to_end(dag: DAG, resources: dict[str, object]) -> None:
    with Engine(workers=1) as engine:
        engine.run(dag, JobConfig(resources=resources)).join()


# ---- SpoolWrite


def test_a_row_goes_to_the_bucket_of_its_partition(tmp_path: Path) -> None:
    file = write(tmp_path, [BATCH, BATCH], keys=(0,), buckets=7)

    for bucket in range(7):
        for n, _ in stored_rows(file, range(bucket, bucket + 1)):
            (partition,) = partition_ids([pa.array([n], pa.int64())], 1, 271).tolist()
            assert partition * 7 // 271 == bucket
    assert sorted(map(repr, stored_rows(file))) == sorted(map(repr, ROWS + ROWS))


@pytest.mark.parametrize("buckets", [1, 2, 3, 271, 500])
def test_equal_keys_share_a_bucket_in_their_order(tmp_path: Path, buckets: int) -> None:
    schema = pa.schema([("k", DOUBLE), ("i", BIGINT)])
    keys = [0.0, -0.0, None, float("nan"), 1.5, 2.5] * 20
    rows = [(key, place) for place, key in enumerate(keys)]

    file = write(tmp_path, [batch_of(schema, rows)], keys=(0,), buckets=buckets, schema=schema)

    found: dict[str, set[int]] = {}
    for bucket in range(buckets):
        stored = [
            cast("tuple[float | None, int]", row) for row in stored_rows(file, range(bucket, bucket + 1))
        ]
        assert [i for _, i in stored] == sorted(i for _, i in stored)
        for key, _ in stored:
            found.setdefault(repr(key).removeprefix("-"), set()).add(bucket)
    assert set(found) == {"0.0", "None", "nan", "1.5", "2.5"}
    assert all(len(places) == 1 for places in found.values())


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_without_keys_rows_go_in_turn_however_they_are_cut(tmp_path: Path, size: int) -> None:
    count = 2 * DEALT_ROWS + 100
    rows = pa.RecordBatch.from_pydict({"n": range(count), "s": ["a"] * count})

    file = write(tmp_path, [*slices(rows, size), rows.slice(0, 0)], buckets=2)

    first = [n for n, _ in stored_rows(file, range(1))]
    assert first == [*range(DEALT_ROWS), *range(2 * DEALT_ROWS, count)]
    assert [n for n, _ in stored_rows(file, range(1, 2))] == [*range(DEALT_ROWS, 2 * DEALT_ROWS)]


def test_the_hostile_orders_write_the_same_rows(tmp_path: Path) -> None:
    report: list[SpoolFile] = []
    path = str(tmp_path / NAME)
    sink = SpoolWrite(path, (1,), 4, "report", SpoolSettings(buffer_size=3000, fsync=False))

    verify_processor(sink, [[BATCH, BATCH]], [], context=lambda: reporting(report))

    assert len({file.bucket_rows for file in report}) == 1
    assert sorted(map(repr, stored_rows(report[-1]))) == sorted(map(repr, ROWS + ROWS))
    assert names(tmp_path) == [NAME]


def test_a_closed_generator_leaves_no_file(tmp_path: Path) -> None:
    report: list[SpoolFile] = []
    context = reporting(report)
    steps = SpoolWrite(str(tmp_path / NAME), (), 1, "report").run(context)
    next(steps)
    steps.send(BATCH)
    steps.close()

    assert report == []
    assert names(tmp_path) == []
    assert context.memory.held == 0  # type: ignore[attr-defined]


class Breaks(Processor, frozen=True):
    """A source of which the second step fails."""

    def run(self, context: ProcessorContext) -> Steps:
        yield BATCH
        raise OperationalError("the source is gone")


def test_a_job_that_fails_leaves_no_file_and_reports_none(tmp_path: Path) -> None:
    report: list[SpoolFile] = []
    dag = DAG()
    sink = dag.vertex("sink", SpoolWrite(str(tmp_path / NAME), (0,), 2, "report"), 1)
    dag.edge(Edge.between(dag.vertex("source", Breaks(), 1), sink))

    with pytest.raises(OperationalError, match="the source is gone"):
        run_to_end(dag, {"report": report})
    assert report == []
    assert names(tmp_path) == []


def test_two_jobs_hand_rows_over_by_a_file(tmp_path: Path) -> None:
    report: list[SpoolFile] = []
    write = DAG()
    source = write.vertex("source", Batches("rows"), 1)
    sink = write.vertex("sink", SpoolWrite(str(tmp_path / NAME), (0,), 5, "report"), 1)
    write.edge(Edge.between(source, sink))
    run_to_end(write, {"rows": [BATCH, BATCH], "report": report})
    read = DAG()
    scan = read.vertex("scan", SpoolScan(tuple(report), 0, 5), 1)
    read.edge(Edge.between(scan, read.vertex("result", ResultSink(), 1)))

    assert sorted(map(repr, rows_of(run_dag(read)))) == sorted(map(repr, ROWS + ROWS))


def test_two_instances_for_one_file_are_refused(tmp_path: Path) -> None:
    context = msgspec.structs.replace(reporting([]), local_parallelism=2)

    with pytest.raises(InternalError, match="2 instances write the spool file"):
        next(SpoolWrite(str(tmp_path / NAME), (), 1, "report").run(context))


def test_a_plan_names_only_files_that_the_process_may_open(tmp_path: Path) -> None:
    context = msgspec.structs.replace(reporting([]), files=NOWHERE)

    with pytest.raises(ProgrammingError, match="may not be read or written"):
        next(SpoolWrite(str(tmp_path / NAME), (), 1, "report").run(context))
    assert names(tmp_path) == []
    with pytest.raises(ProgrammingError, match="may not be read or written"):
        next(SpoolScan((write(tmp_path, [BATCH]),), 0, 1).run(context))


# ---- SpoolScan


def test_the_scan_gives_the_rows_of_its_buckets(tmp_path: Path) -> None:
    files = tuple(write(tmp_path, [BATCH], (0,), 4, name) for name in ("a.arrow", "b.arrow"))
    expected = [row for file in files for row in stored_rows(file, range(1, 3))]

    verify_processor(SpoolScan(files, 1, 3), [], expected, ordered=True)


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_the_parts_of_some_buckets_have_each_row_once(tmp_path: Path, parts: int) -> None:
    """Parts are made of record batches, whether one file has several or several files have one each."""
    counts, files = (5, 0, 1, 1), []
    for place, count in enumerate(counts):
        folder = tmp_path / str(place)
        folder.mkdir()
        wanted = [(BATCH.slice(number, 2), bucket) for number in range(count) for bucket in (0, 2)]
        batches = [(BATCH, 1), *wanted]
        files.append(write_spool(folder, batches, 3, settings=SpoolSettings(buffer_size=1000)))
    scan = SpoolScan(tuple(files), 2, 3)
    read = [run_processor(msgspec.structs.replace(scan, part=part, parts=parts), []) for part in range(parts)]

    assert [row for batches in read for row in rows_of(batches)] == rows_of(run_processor(scan, []))
    assert max(map(len, read)) == -(-sum(counts) // parts)


@pytest.mark.parametrize("instances", [1, 2, 3, 5])
def test_the_instances_read_in_turn_give_the_files_in_order(tmp_path: Path, instances: int) -> None:
    files = tuple(write(tmp_path, [BATCH.slice(i, 1)], name=f"{i}.arrow") for i in range(4))
    dag = DAG()
    scan = dag.vertex("scan", SpoolScan(files, 0, 1), instances)
    dag.edge(Edge.between(scan, dag.vertex("result", ResultSink(), 1)).in_turn())

    assert rows_of(run_dag(dag)) == ROWS[:4]


def test_the_error_of_a_job_names_the_damaged_file(tmp_path: Path) -> None:
    file = write(tmp_path, [BATCH])
    (tmp_path / NAME).unlink()
    dag = DAG()
    scan = dag.vertex("scan", SpoolScan((file,), 0, 1), 1)
    dag.edge(Edge.between(scan, dag.vertex("result", ResultSink(), 1)))

    with pytest.raises(SpoolDamaged, match="is missing") as caught:
        run_dag(dag)
    assert caught.value.path == file.path
    assert caught.value.vertex == "scan"
