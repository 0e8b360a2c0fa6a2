"""The tables that a durable job reads."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import sqlfront

RANGE = "SELECT count(*) AS n FROM range(10) WHERE id > 3"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[sqlfront.Session]:
    with sqlfront.connect(job_store=str(tmp_path / "store"), workers=2) as connection:
        connection.execute(f"CREATE TABLE t USING parquet LOCATION '{tmp_path}/t' AS SELECT 1 AS k")
        connection.execute("CREATE TEMPORARY VIEW v AS SELECT * FROM VALUES (1), (2) AS v(k)")
        yield connection.session


def test_a_range(session: sqlfront.Session) -> None:
    assert session.submit_job(RANGE).result().collect() == [(6,)]


@pytest.mark.parametrize(("name", "rows"), [("t", 1), ("v", 2)])
def test_a_cached_relation(session: sqlfront.Session, name: str, rows: int) -> None:
    session.execute(f"CACHE TABLE {name} CLUSTERED BY (k)")

    assert session.submit_job(f"SELECT count(*) FROM {name}").result().collect() == [(rows,)]


def test_each_of_two_tables_of_one_name_is_checked(session: sqlfront.Session) -> None:
    session.register("t", pa.table({"k": [1]}))

    for sql in ("SELECT * FROM t JOIN default.t USING (k)", "SELECT * FROM default.t JOIN t USING (k)"):
        with pytest.raises(sqlfront.NotSupportedError, match="a durable job that reads `t`"):
            session.submit_job(sql)
