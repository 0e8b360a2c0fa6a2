"""``EXPLAIN (FORMAT dag)``, and the log at DEBUG: the DAG that runs, in the form of the engine's DOT text."""

import logging
import re
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront import Connection
from sqlfront.config import Config

LOOKUP = """digraph DAG {
	"scan o" [localParallelism=1, requiredPartitions="203, 268"];
	"result" [localParallelism=1];
	"scan o" -> "result" [queueSize=1024];
}"""
BY_COLUMN = "SELECT c, count(*) FROM o WHERE p > 3 GROUP BY c"
JOINED = "SELECT a.c FROM o a JOIN o b ON a.c = b.k WHERE a.k IN (?, 8)"


def filled(members: int) -> Connection:
    connection = sqlfront.connect(config=Config(members=members, workers=2 * members))
    connection.execute(
        "CREATE TABLE o (k BIGINT, c BIGINT, p DOUBLE) USING memory CLUSTERED BY (k) INTO 271 BUCKETS"
    )
    connection.execute("INSERT INTO o SELECT id, id % 100, id * 1.5D FROM range(200000)")
    return connection


@pytest.fixture(scope="module", params=[1, 3])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with filled(request.param) as connection:
        yield connection


def drawn(connection: Connection, query: str, *values: object, words: str = "FORMAT dag") -> str:
    ((found,),) = connection.execute(f"EXPLAIN ({words}) {query}", values or None).fetchall()
    return str(found)


def test_a_lookup_shows_the_partitions_that_it_needs(connection: Connection) -> None:
    assert drawn(connection, "SELECT p FROM o WHERE k IN (?, 8)", 7) == LOOKUP


def test_a_job_shows_parallelism_queues_and_labels(connection: Connection) -> None:
    lines = drawn(connection, BY_COLUMN).splitlines()
    vertices = [line for line in lines if re.fullmatch(r'\t"[^"]+" \[localParallelism=[12]\];', line)]
    edges = [
        line
        for line in lines
        if re.fullmatch(r'\t+"[^"]+" -> "[^"]+" \[(label="[^"]+", )?queueSize=1024\];', line)
    ]
    groups = [line for line in lines if re.fullmatch(r"\tsubgraph cluster_\d+ \{|\t\}", line)]

    assert lines[0] == "digraph DAG {"
    assert lines[-1] == "}"
    assert len(vertices) + len(edges) + len(groups) == len(lines) - 2
    assert '\t"scan o" [localParallelism=2];' in vertices
    members = connection.execute("SELECT count(*) FROM sys.members").fetchone()
    assert ('label="distributed to <coordinator>-partitioned"' in "".join(edges)) == (members == (3,))


def test_rows_that_are_computed_once_have_a_dag_of_their_own(connection: Connection) -> None:
    text = drawn(
        connection, "WITH r AS (SELECT c, rand() AS x FROM o) SELECT count(*) FROM r a JOIN r b ON a.x = b.x"
    )

    assert text.startswith("// shared rows r\ndigraph DAG {\n")
    assert text.count("\n}\ndigraph DAG {\n") == 1


@pytest.mark.parametrize("query", [BY_COLUMN, JOINED.replace("?", "7"), "SELECT 1"])
def test_every_plan_of_a_query_has_the_same_text(connection: Connection, query: str) -> None:
    texts = set()
    for _ in range(3):
        connection.session.context.plans.clear()
        texts.add(drawn(connection, query))

    assert len(texts) == 1


def test_analyze_runs_the_query_first(connection: Connection) -> None:
    assert drawn(connection, BY_COLUMN, words="ANALYZE, FORMAT dag") == drawn(connection, BY_COLUMN)
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        drawn(connection, "SELECT c DIV (k - 5) FROM o", words="ANALYZE, FORMAT dag")


def test_a_name_keeps_its_quotes_and_backslashes(connection: Connection) -> None:
    name = '`a"b\\c\nd`'
    rows = f"WITH {name} AS (SELECT c, rand() AS x FROM o)"
    text = drawn(connection, f"{rows} SELECT * FROM {name} x JOIN {name} y USING (x)")

    assert text.startswith('// shared rows a"b\\c d\n')
    assert '\t"scan a\\"b\\\\c\\nd" [localParallelism=' in text


def test_dag_is_no_reserved_word(connection: Connection) -> None:
    assert connection.execute("SELECT dag.dag AS dag FROM (SELECT 1 AS dag) dag").fetchall() == [(1,)]


def test_extended_has_no_dag(connection: Connection) -> None:
    with pytest.raises(sqlfront.NotSupportedError, match="in the format dag"):
        drawn(connection, BY_COLUMN, words="EXTENDED, FORMAT dag")


def test_a_job_logs_its_dag_at_debug(connection: Connection, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "sqlfront.lanes.jobs"):
        connection.execute(BY_COLUMN).fetchall()
        connection.execute(JOINED, [7]).fetchall()
    logged = [record.getMessage() for record in caplog.records if record.name == "sqlfront.lanes.jobs"]

    assert logged[0] == f"a query runs this DAG:\n{drawn(connection, BY_COLUMN)}"
    assert all("requiredPartitions=" in each for each in logged[1:])


def test_nothing_is_drawn_above_debug(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlfront.lanes.jobs._log", None)

    assert connection.execute("SELECT count(*) FROM o").fetchall() == [(200_000,)]
