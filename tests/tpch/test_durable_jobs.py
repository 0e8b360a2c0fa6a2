"""TPC-H as durable jobs: the stages of each query give Spark's answer."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront import Config
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.events import JobEnd, JobEnded
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_engine.durable.stages import cut
from sqlfront_engine.durable.takeover import submit
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.scheduler import SystemClock
from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import PlanTarget, plan_query
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query
from tests.engine.durable.durable_jobs import SUBMITTED
from tests.engine.durable.logs import CLUSTER, JOB, owned
from tests.oracle.answers import difference
from tests.oracle.subject import Subject
from tests.tpch.answers import NAMES, expected, is_ordered, query
from tests.tpch.data import TABLES, tpch_folder

#: Queries with kept rows, with a sort, and with rows that are exchanged: for the test command.
FEW = {"q3", "q9", "q13", "q21"}
#: Few rows are collected, so that most edges between stages divide rows.
TARGET = PlanTarget(workers=1, distributed=True, collect_rows=1000)


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with Subject(Config(workers=2)) as subject:
        for table in TABLES:
            path = tpch_folder() / f"{table}.parquet"
            subject.answer(f"CREATE TABLE {table} USING parquet LOCATION '{path}'")
        yield subject


def run_durably(plan: QueryPlan, folder: Path) -> JobEnded:
    dag, resources = plan.bind()
    stages = cut(dag)
    store = JobStore(LocalFolder(str(folder / "store")), SystemClock())
    with owned(store), Engine(workers=1) as engine:
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="m")
        log, state = submit(claim, SUBMITTED, incarnation="i", settings=LogSettings())
        config, options = JobConfig(resources=resources), JobOptions(parallelism=3, buckets=12, task_size=1)
        runner = ThreadRunner(engine, stages, config, threads=2, member="m", incarnation="i")
        with log, runner:
            return Coordinator(stages, state, log, runner, str(folder / "spool"), options).run()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.soak) for name in NAMES]
)
def test_answer_is_sparks(subject: Subject, name: str, tmp_path: Path) -> None:
    context = subject.connection.session.context
    statement = parse(query(name))
    assert isinstance(statement, Query)
    plan = plan_query(statement, context.catalog, context.bind_settings, target=TARGET)

    ended = run_durably(plan, tmp_path)

    assert ended.state is JobEnd.FINISHED, ended.error
    assert ended.result is not None
    rows = pa.Table.from_batches(
        [
            batch.rename_columns(plan.schema.names).cast(plan.schema)
            for file in ended.result.files
            for batch in read_spool(file)
        ],
        plan.schema,
    )
    subject.connection.session.register("answer", rows)
    differs = difference(expected(name), subject.answer("SELECT * FROM answer"), ordered=is_ordered(name))
    assert differs is None, differs
