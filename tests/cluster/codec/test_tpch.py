"""TPC-H with every plan as bytes between planner and engine: the answers stay the same."""

from collections.abc import Iterator

import pytest

from sqlfront_cluster.codec import decode_dag, encode_dag
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import DEFAULT_CONFIG, Engine, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from tests.oracle.answers import Failure, difference
from tests.oracle.subject import Subject
from tests.tpch.answers import NAMES, expected, is_ordered, query
from tests.tpch.data import TABLES, tpch_folder


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    run = Engine.run

    def run_travelled(engine: Engine, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        return run(engine, decode_dag(encode_dag(dag)), config)

    with pytest.MonkeyPatch.context() as patch, Subject() as subject:
        patch.setattr(Engine, "run", run_travelled)
        for table in TABLES:
            path = tpch_folder() / f"{table}.parquet"
            outcome = subject.answer(f"CREATE TABLE {table} USING parquet LOCATION '{path}'")
            assert not isinstance(outcome, Failure), outcome
        yield subject


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_plan_that_travelled_gives_the_same_answer(subject: Subject, name: str) -> None:
    differs = difference(expected(name), subject.answer(query(name)), ordered=is_ordered(name))

    assert differs is None, differs
