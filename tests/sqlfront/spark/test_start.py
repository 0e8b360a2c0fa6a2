"""A Spark session that is started when a statement needs it: who waits for it, and who doesn't."""

import threading
from collections.abc import Iterator
from typing import Final

import pytest
from pyspark.sql import SparkSession

from sqlfront.session import Session
from sqlfront.spark.attached import AttachedSession
from sqlfront_connectors.spark import started_sessions
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.oracle.spark import SparkOracle
from tests.programs import printed

#: What a session is needed for that sqlfront doesn't do.
PIVOT = "SELECT * FROM (SELECT array(1) AS a) PIVOT (count(*) FOR a IN (array(1), array(2)))"
ZONE = "spark.sql.session.timeZone"
WITHOUT_PYSPARK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import sqlfront
connection = sqlfront.connect(spark="local[2]")
assert connection.execute("SELECT 1").fetchall() == [(1,)]
assert connection.execute("SELECT count(*) FROM sys.plans").fetchall() == [(1,)]
for _ in range(2):
    try:
        connection.execute("SELECT * FROM (SELECT array(1) AS a) PIVOT (count(*) FOR a IN (array(1)))")
    except sqlfront.OperationalError as error:
        print(error)
print(connection.execute("SELECT 2").fetchall())
"""


class SlowBuilder:
    """Stands for a builder: its session is there when it may :attr:`begin`, unless it `fails`."""

    def __init__(self, spark: SparkSession, **options: str) -> None:
        self._options = options
        self.begin = threading.Event()
        self.fails: list[Exception] = []
        self.stopped = 0
        self.spark = spark
        spark.stop = self._stop  # type: ignore[method-assign]

    def getOrCreate(self) -> SparkSession:
        assert self.begin.wait(60)
        if self.fails:
            raise self.fails.pop()
        return self.spark

    def _stop(self) -> None:
        self.stopped += 1


class NoBuilder:
    """Stands for a builder that has no session to give."""

    _options: Final[dict[str, str]] = {}

    def getOrCreate(self) -> SparkSession:
        raise RuntimeError("there is none")


def beside(builder: SlowBuilder) -> Session:
    return Session(spark=builder)  # type: ignore[arg-type]


@pytest.fixture
def builder(spark: SparkOracle, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowBuilder]:
    """One of a process in which there is no session yet."""
    monkeypatch.setattr(started_sessions, "_has_session", lambda: False)
    found = SlowBuilder(spark.new_session())
    yield found
    found.begin.set()


def test_without_pyspark_the_first_statement_that_needs_it_says_what_to_install_and_why() -> None:
    message = (
        "pyspark is not installed: pip install 'sqlfront[spark]' "
        "(Spark is needed: PIVOT by ARRAY<INT> is not supported.)"
    )
    assert printed(WITHOUT_PYSPARK) == [message, message, "[(2,)]"]


@pytest.mark.spark
def test_what_needs_no_spark_is_answered_while_others_wait(builder: SlowBuilder) -> None:
    with beside(builder) as session:
        found: list[object] = []
        waiting = threading.Thread(target=lambda: found.extend(session.execute(PIVOT).collect()))
        waiting.start()

        assert session.execute("SELECT 1 AS a").collect() == [(1,)]
        session.execute("SET spark.sql.session.timeZone = Asia/Tokyo")
        assert not found

        builder.begin.set()
        waiting.join(60)
        assert found == [(1, None)]
        assert builder.spark.conf.get(ZONE) == "Asia/Tokyo"
        assert session.execute("SELECT * FROM range(3)").stats.lane == "light"
    assert builder.stopped == 1


@pytest.mark.spark
def test_waiting_ends_with_the_statement(builder: SlowBuilder) -> None:
    with beside(builder) as session:
        with pytest.raises(OperationalError, match=r"timeout of 0\.05 s") as late:
            session.execute(PIVOT, timeout=0.05)
        assert late.value.sqlstate == "57014"

        query = session.begin(PIVOT)
        threading.Timer(0.05, query.cancel, ("KILL",)).start()
        with pytest.raises(OperationalError, match="cancelled by KILL"):
            session.execute("SELECT * FROM unknown", query=query)

        builder.begin.set()
        assert session.execute(PIVOT).collect() == [(1, None)]


def test_showing_a_frame_starts_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(started_sessions, "_has_session", lambda: False)
    with AttachedSession(NoBuilder()) as session:  # type: ignore[arg-type]
        frame = session.sql("SELECT 1 AS _1")
        assert "_1" in frame._repr_html_()
        assert not hasattr(frame, "_repr_mimebundle_")
        assert not hasattr(frame, "_ipython_display_")
        with pytest.raises(OperationalError, match="the caller asks for a DataFrame of Spark"):
            _ = frame._1


@pytest.mark.spark
def test_a_name_that_is_unknown_here_needs_the_session(builder: SlowBuilder) -> None:
    with beside(builder) as session:
        builder.spark.range(4).createOrReplaceTempView("theirs")
        builder.begin.set()

        assert session.execute("SELECT count(*) FROM theirs").collect() == [(4,)]
        with pytest.raises(ProgrammingError) as found:
            session.execute("SELECT * FROM unknown")
        assert found.value.condition == "TABLE_OR_VIEW_NOT_FOUND"


@pytest.mark.spark
def test_a_start_that_fails_is_one_error_and_tried_again(builder: SlowBuilder) -> None:
    builder.begin.set()
    builder.fails.append(RuntimeError("there is no Java"))
    with beside(builder) as session:
        with pytest.raises(OperationalError) as failure:
            session.execute("CREATE TABLE t (a INT) USING memory")
        assert failure.value.message == (
            "Spark can't be started: there is no Java (Spark is needed: `t` is none of this session's tables)"
        )

        session.execute("CREATE TABLE t (a INT) USING memory")
        assert session.execute("SELECT * FROM t").stats.lane == "light"


@pytest.mark.spark
def test_what_a_builder_sets_is_so_from_the_beginning(builder: SlowBuilder) -> None:
    builder._options |= {ZONE: "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}
    builder.spark.conf.set("spark.sql.ansi.enabled", "false")
    builder.begin.set()
    with beside(builder) as session:
        assert session.settings.time_zone == "Asia/Tokyo"
        assert session.execute("SELECT 1 / 0 AS n").collect() == [(None,)]


@pytest.mark.spark
def test_a_session_that_is_there_is_used_at_once_and_left_alone(spark: SparkOracle) -> None:
    builder = SlowBuilder(spark.new_session())
    builder.begin.set()
    builder.spark.range(3).createOrReplaceTempView("theirs")
    with beside(builder) as session:
        assert session.execute("SELECT count(*) FROM theirs").stats.lane == "spark"
    assert builder.stopped == 0


@pytest.mark.spark
def test_a_session_closed_while_spark_starts_stops_it(builder: SlowBuilder) -> None:
    session = beside(builder)
    with pytest.raises(OperationalError):
        session.execute(PIVOT, timeout=0.05)
    assert session.spark is not None
    start = session.spark._start._future
    assert start is not None
    session.close()

    builder.begin.set()
    assert isinstance(start.exception(60), OperationalError)
    assert builder.stopped == 1
