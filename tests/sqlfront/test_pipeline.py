"""Pipelines at the front door, on one member and on three."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront import Config, DataError, InterfaceError, OperationalError, ProgrammingError, Session
from sqlfront.pipeline import Pipeline, aggregation, logger_sink, table, text_lines
from sqlfront_connectors.base import WritableTable

LICENSE = Path(__file__).parents[2] / "LICENSE"
WORD = pa.field("word", pa.string())


@pytest.fixture(params=[1, 3])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session(Config(members=request.param)) as session:
        yield session


def test_the_words_of_a_real_text_are_counted(session: Session) -> None:
    text = LICENSE.read_text("utf-8").lower()
    steps = Pipeline().read(text_lines(str(LICENSE)))
    words = steps.flat_map(lambda line: re.split(r"\W+", line.lower()), WORD).filter(lambda word: word != "")
    counted = words.group_by("word").aggregate(count=aggregation("count"))

    result = session.run_pipeline(counted.collect())

    assert dict(result.collect()) == Counter(re.findall(r"\w+", text))  # type: ignore[arg-type]
    assert result.columns == ["word", "count"]


def test_a_table_is_read(session: Session) -> None:
    session.sql(
        "create table t using memory clustered by (k) into 271 buckets as select id as k from range(99)"
    )

    doubled = Pipeline().read(table(session, "t")).map(lambda k: 2 * k, pa.field("k", pa.int64()))
    total = doubled.aggregate(total=aggregation("sum", "k"))

    assert session.run_pipeline(total.collect()).collect() == [(99 * 98,)]


def test_rows_go_into_a_table_all_or_nothing(session: Session) -> None:
    session.sql("create table t (k bigint, name string) using memory clustered by (k) into 271 buckets")
    output = pa.schema([("n", pa.int64()), ("text", pa.string())])

    def insert(function: Callable[[int], object], *, overwrite: bool = False) -> None:
        numbers = pa.table({"n": list(range(9))})
        session.register("numbers", numbers)
        rows = Pipeline().read(table(session, "numbers")).map(function, output)
        session.run_pipeline(rows.insert_into(writable(session, "t"), overwrite=overwrite))

    insert(lambda n: (n, str(n)))
    with pytest.raises(DataError, match="ZeroDivisionError"):
        insert(lambda n: (1 // (n - 8), "lost"))
    assert session.sql("select count(*), max(name) from t").collect() == [(9, "8")]

    insert(lambda n: (n, "new"), overwrite=True)
    assert session.sql("select count(*), max(name) from t").collect() == [(9, "new")]


def test_a_table_takes_rows_of_its_types_only(session: Session) -> None:
    session.sql("create table t (k bigint) using memory")
    steps = Pipeline().read(text_lines(str(LICENSE)))

    with pytest.raises(ProgrammingError, match=r"gives \(string\), but the table has \(bigint\)"):
        steps.insert_into(writable(session, "t"))


def writable(session: Session, name: str) -> WritableTable:
    found = table(session, name)
    assert isinstance(found, WritableTable)
    return found


def test_a_pipeline_without_a_result_has_ended_on_return(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "sqlfront_engine"):
        result = session.run_pipeline(Pipeline().read(text_lines(str(LICENSE))).write(logger_sink()))

    assert len(caplog.records) == len(LICENSE.read_text("utf-8").splitlines())
    assert result.columns == []


def test_errors_of_user_code_are_raised(session: Session) -> None:
    def fail(line: str) -> str:
        raise ValueError("no")

    steps = Pipeline().read(text_lines(str(LICENSE))).map(fail, WORD, name="failing")

    with pytest.raises(DataError, match=r"step 'failing', function .*fail: ValueError: no"):
        session.run_pipeline(steps.collect())


def test_a_missing_file_is_named(session: Session) -> None:
    with pytest.raises(OperationalError, match="no file matches nowhere"):
        session.run_pipeline(Pipeline().read(text_lines("nowhere/*")).collect())


def test_a_missing_table_is_named(session: Session) -> None:
    with pytest.raises(ProgrammingError, match="no table 'nowhere'"):
        table(session, "nowhere")


def test_a_closed_session_runs_nothing() -> None:
    session = Session()
    session.close()

    with pytest.raises(InterfaceError, match="closed"):
        session.run_pipeline(Pipeline().read(text_lines(str(LICENSE))).collect())
