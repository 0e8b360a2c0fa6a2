"""The seed of the Pipeline API: its word count, its DAG, a real text."""

import logging
from collections import Counter

import pytest

from sqlfront_engine.dot import to_dot
from sqlfront_engine.engine import Engine
from sqlfront_planner.pipeline.endpoints import logger_sink
from sqlfront_planner.pipeline.plan import Circumstances, plan
from sqlfront_planner.pipeline.submission import submit
from tests.planner.pipeline.pipelines import LICENSE, counted_words, run, words_of

#: As it stands in the manual, a line per statement.
SEED = """
digraph DAG {
  "filesSource(/*)" [localParallelism=1];
  "fused(flat-map, filter)" [localParallelism=2];
  "group-and-aggregate-prepare" [localParallelism=2];
  "group-and-aggregate" [localParallelism=2];
  "loggerSink" [localParallelism=1];
  "filesSource(/*)" -> "fused(flat-map, filter)" [queueSize=1024];
  "fused(flat-map, filter)" -> "group-and-aggregate-prepare" [label="partitioned", queueSize=1024];
  subgraph cluster_0 {
    "group-and-aggregate-prepare" -> "group-and-aggregate" [label="distributed-partitioned", queueSize=1024];
  }
  "group-and-aggregate" -> "loggerSink" [queueSize=1024];
}
"""


def expected() -> Counter[str]:
    words = (word for line in LICENSE.read_text("utf-8").splitlines() for word in words_of(line))
    return Counter(word for word in words if word)


def test_the_dag_is_the_seeds_line_by_line() -> None:
    pipeline = counted_words("*").write(logger_sink())

    dot = to_dot(plan(pipeline.definition(), Circumstances(workers=2)).dag, 2)

    lines = [line.strip() for line in dot.splitlines()]
    assert sorted(lines) == sorted(line.strip() for line in SEED.strip().splitlines())


def test_a_real_text_is_counted_as_by_a_counter() -> None:
    assert sum(expected().values()) > 1000

    assert {row[0]: row[1] for row in run(counted_words(str(LICENSE)).collect())} == expected()


@pytest.mark.parametrize("logged", [True, False])
def test_the_dag_is_logged_at_debug(logged: bool, caplog: pytest.LogCaptureFixture) -> None:
    name = "sqlfront_planner.pipeline.submission"
    with caplog.at_level(logging.DEBUG if logged else logging.INFO, name), Engine(workers=1) as engine:
        list(submit(counted_words(str(LICENSE)).collect(), engine.run).batches())

    messages = [record for record in caplog.records if record.name == name]
    assert [record.levelno for record in messages] == [logging.DEBUG] * logged
    assert not logged or "digraph DAG {" in messages[0].getMessage()


def test_the_logger_sink_logs_each_row(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sqlfront_engine"), Engine(workers=1) as engine:
        submit(counted_words(str(LICENSE)).write(logger_sink()), engine.run).join()

    logged = {record.getMessage() for record in caplog.records}
    assert logged == {f"loggerSink: {word}, {count}" for word, count in expected().items()}
