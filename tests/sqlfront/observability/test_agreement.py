"""Random statements: sys.queries, log lines, metrics and spans agree with each other and with the client."""

from __future__ import annotations

import gc
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import sqlfront
from sqlfront import Config
from sqlfront.pipeline import Pipeline, table
from sqlfront.results.result import Result
from tests.cluster.network.meeting import until
from tests.sqlfront.observability.test_metrics import ANYWHERE, scraped

ROWS: Final = 3000
ENDLESS: Final = "SELECT count(*) FROM t a CROSS JOIN t b CROSS JOIN t c WHERE a.k + b.k = -c.k"
#: States, rows given and rows written of the statements of one call, as the client sees them.
Seen = list[tuple[set[str], int, int | None]]

READ_OUT = {"finished"}
CUT = {"finished", "closed"}


class Client:
    """A client that makes random statements on a connection, and notes what it sees."""

    def __init__(self, connection: sqlfront.Connection, seed: int) -> None:
        self.connection = connection
        self.random = random.Random(seed)
        self.seen: Seen = []
        self._prepared = connection.prepare("SELECT v FROM t WHERE k = ?")
        connection.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id AS v FROM range(3000)"
        )
        connection.execute("CREATE TABLE log (a INT) USING memory")
        self.seen += [(READ_OUT, 0, ROWS), (READ_OUT, 0, None)]
        self.written = 0

    def step(self) -> None:
        """One random call."""
        calls: list[Callable[[], None]] = [
            self.lookup, self.lookup, self.job, self.parts, self.parts, self.failure, self.failure,
            self.late_failure, self.cancelled, self.late, self.prepared, self.many, self.command, self.arrow,
            self.pipeline, self.explain, self.rows_in_between, self.refused,
        ]  # fmt: skip
        self.random.choice(calls)()

    def lookup(self) -> None:
        key = self.random.randrange(2 * ROWS)
        rows = self.connection.execute(f"SELECT v FROM t WHERE k = {key}").fetchall()
        self.seen.append((READ_OUT, len(rows), None))

    def job(self) -> None:
        bound = self.random.randrange(ROWS)
        rows = self.connection.execute("SELECT k, v FROM t WHERE v < ? ORDER BY k", [bound]).fetchall()
        assert len(rows) == bound
        self.seen.append((READ_OUT, bound, None))

    def parts(self) -> None:
        """A part of a result, which is then closed, dropped, or overtaken by the cursor's next statement."""
        text = self.random.choice(
            ["SELECT k FROM t", "SELECT k FROM t WHERE k IN (1, 2, 3, 4)", "SHOW TABLES"]
        )
        cursor, wanted = self.connection.cursor(), self.random.randrange(5)
        rows = (
            len(cursor.execute(text).fetchmany(wanted)) if wanted else len(cursor.execute(text).fetchmany(0))
        )
        self.seen.append((CUT, rows, None))
        match self.random.randrange(3):
            case 0:
                cursor.close()
            case 1:
                cursor.execute("SELECT 'next'").fetchall()
                self.seen.append((READ_OUT, 1, None))

    def rows_in_between(self) -> None:
        """A result that is iterated while another statement runs."""
        wanted = self.random.randrange(1, ROWS)
        rows = iter(self.session_result("SELECT k FROM t"))
        for _ in range(wanted):
            next(rows)
        self.seen.append((CUT, wanted, None))
        self.lookup()

    def failure(self) -> None:
        text = self.random.choice(
            [
                "SELEC",
                "SELECT x FROM t",
                "SELECT 1/0",
                "DROP TABLE u",
                "SELECT ? + 1",
                "SELECT assert_true(k < 0) FROM t",
            ]
        )
        with pytest.raises(sqlfront.Error):
            self.connection.execute(text).fetchall()
        self.seen.append(({"failed"}, 0, None))

    def refused(self) -> None:
        with pytest.raises(sqlfront.Error):
            self.connection.session.execute("SELECT ?", [object()])
        self.seen.append(({"failed"}, 0, None))

    def late_failure(self) -> None:
        """An error in a row that comes after others."""
        given = 0

        def read() -> None:
            nonlocal given
            for _ in self.connection.execute("SELECT 1 DIV (299999 - id) FROM range(300000)"):
                given += 1

        with pytest.raises(sqlfront.Error):
            read()
        self.seen.append(({"failed"}, given, None))

    def cancelled(self) -> None:
        session = self.connection.session
        query = session.begin(ENDLESS)
        query.cancel()
        with pytest.raises(sqlfront.OperationalError):
            session.execute(ENDLESS, query=query).collect()
        self.seen.append(({"cancelled"}, 0, None))

    def late(self) -> None:
        with pytest.raises(sqlfront.OperationalError):
            self.connection.execute(ENDLESS, timeout=0.01).fetchall()
        self.seen.append(({"timed out"}, 0, None))

    def prepared(self) -> None:
        for _ in range(2):
            rows = self._prepared.execute([self.random.randrange(2 * ROWS)]).collect()
            self.seen.append((READ_OUT, len(rows), None))

    def many(self) -> None:
        values = [[number] for number in range(self.random.randrange(2, 5))]
        assert self.connection.executemany("INSERT INTO log VALUES (?)", values).rowcount == len(values)
        self.seen.append((READ_OUT, 0, len(values)))
        assert self.connection.executemany("DELETE FROM log WHERE a = ?", [[-1], [-2]]).rowcount == 0
        self.seen += [(READ_OUT, 0, 0)] * 2
        self.written += len(values)

    def command(self) -> None:
        assert self.connection.execute("DELETE FROM log").rowcount == self.written
        self.seen.append((READ_OUT, 0, self.written))
        self.written = 0

    def arrow(self) -> None:
        result = self.session_result("SELECT k, v FROM t")
        for _ in range(self.random.randrange(1, 3)):
            assert result.toArrow().num_rows == ROWS
        self.seen.append((READ_OUT, ROWS, None))

    def explain(self) -> None:
        self.connection.execute("EXPLAIN ANALYZE SELECT count(*) FROM t").fetchall()
        self.seen.append((READ_OUT, 1, None))

    def pipeline(self) -> None:
        session = self.connection.session
        made = Pipeline().read(table(session, "t")).filter(lambda k, v: k < 10).collect()
        assert len(session.run_pipeline(made).collect()) == 10
        self.seen.append((READ_OUT, 10, None))

    def session_result(self, text: str) -> Result:
        result = self.connection.session.execute(text)
        assert isinstance(result, Result)
        return result


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    made, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield made
    provider.shutdown()


def agree(
    members: int, seed: int, steps: int, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sqlfront")
    config = Config(
        query_history=10 * steps, slow_query=0.0, metrics=ANYWHERE, tracing=True, members=members, workers=3
    )
    with sqlfront.connect(config=config) as connection:
        client = Client(connection, seed)
        for _ in range(steps):
            client.step()
        gc.collect()
        samples = scraped(connection.session.metrics_address)
        columns = "id, state, rows_given, rows_written, coalesce(lane, 'none'), seconds, session"
        session = connection.execute("SELECT max(session) FROM sys.queries").fetchall()[0][0]
        listed = connection.execute(
            f"SELECT {columns} FROM sys.queries WHERE session = {session}"
        ).fetchall()[:-2]
        until(
            lambda: (
                len([span for span in exporter.get_finished_spans() if span.name != "job"]) == len(listed) + 2
            )
        )

    # sys.queries and the client
    assert len(listed) == len(client.seen) > steps // 2
    for (_, state, given, written, *_), (states, seen, changed) in zip(listed, client.seen, strict=True):
        assert state in states
        assert (given, written) == (seen, changed)
    # metrics
    outcomes = Counter((str(row[4]), str(row[1]).replace(" ", "_")) for row in listed)
    counted = {
        (labels["lane"], labels["outcome"]): number
        for (name, found), number in samples.items()
        if name == "sqlfront_statements_total" and (labels := dict(found))
    }
    assert counted == outcomes
    for name, place in (("sqlfront_rows_given_total", 2), ("sqlfront_rows_written_total", 3)):
        total = sum(number for (metric, _), number in samples.items() if metric == name)
        counts = [row[place] for row in listed]
        assert total == sum(count for count in counts if isinstance(count, int))
    # spans and log lines
    spans: dict[object, tuple[object, object]] = {}
    for span in exporter.get_finished_spans():
        found = dict(span.attributes or {})
        if span.name != "job":
            spans[found["sqlfront.query_id"]] = (found["sqlfront.state"], found["db.response.returned_rows"])
    lines = [record for record in caplog.records if hasattr(record, "query_id")]
    logged = {record.query_id: (record.query_state, record.query_rows_given) for record in lines}  # type: ignore[attr-defined]
    assert len(lines) == len(logged) == len(spans)
    expected = {row[0]: (row[1], row[2]) for row in listed}
    assert {number: spans[number] for number in expected} == expected
    assert {number: logged[number] for number in expected} == expected


@pytest.mark.parametrize("members", [1, 3])
def test_all_watchers_tell_what_the_client_saw(
    members: int, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    agree(members, 20261127 + members, 50, exporter, caplog)


@pytest.mark.doors
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("members", [1, 3])
def test_all_watchers_tell_what_clients_saw_in_longer_runs(
    members: int, seed: int, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    agree(members, seed, 300, exporter, caplog)
