"""Variants at the doors: rows, DataFrames, memory tables and files."""

from pathlib import Path

import pytest

import sqlfront
from sqlfront.results.variant_value import VariantVal
from sqlfront_values.errors import NotSupportedError


@pytest.fixture
def session() -> sqlfront.Session:
    return sqlfront.connect().session


def test_a_value_is_a_variant_val(session: sqlfront.Session) -> None:
    row = session.sql('SELECT parse_json(\'{"b":1.50,"a":[null]}\') AS v, NULL::VARIANT AS n').collect()[0]

    assert str(row.v) == '{"a":[null],"b":1.5}'
    assert row.v == VariantVal.parseJson('{"b":1.50,"a":[null]}')
    assert row.n is None


def test_a_frame_has_the_values_of_rows(session: sqlfront.Session) -> None:
    frame = session.sql("SELECT parse_json('1') AS v, array(parse_json('2')) AS a").toPandas()

    assert str(frame.v[0]) == "1"
    assert [str(each) for each in frame.a[0]] == ["2"]


def test_a_marked_struct_is_read_as_variants(session: sqlfront.Session) -> None:
    table = session.sql("SELECT id, parse_json('{\"a\":' || id || '}') AS v FROM range(3)").toArrow()

    rows = session.sql("SELECT sum(v:a::INT) AS s, typeof(any_value(v)) AS t FROM {t}", t=table).collect()

    assert [tuple(row) for row in rows] == [(3, "variant")]


def test_memory_tables_hold_variants(session: sqlfront.Session) -> None:
    session.sql("CREATE TABLE t (id INT, v VARIANT) USING memory CLUSTERED BY (id) INTO 4 BUCKETS")
    session.sql("INSERT INTO t SELECT id, parse_json('{\"a\":' || id || '}') FROM range(100)")
    session.sql("UPDATE t SET v = variant_set(v, '$.a', 0) WHERE id = 7")

    assert session.sql("SELECT v:a::INT AS a FROM t WHERE id IN (7, 8) ORDER BY a").collect() == [(0,), (8,)]
    with pytest.raises(NotSupportedError, match="an index on"):
        session.sql("CREATE INDEX i ON t (v)")


def test_parquet_is_refused_by_name(session: sqlfront.Session, tmp_path: Path) -> None:
    with pytest.raises(NotSupportedError, match="`v` of type VARIANT in Parquet files"):
        session.sql(f"CREATE TABLE p USING parquet LOCATION '{tmp_path}' AS SELECT parse_json('1') AS v")


def test_a_variant_is_no_clustering_key(session: sqlfront.Session) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="`v` can't be a clustering key"):
        session.sql(
            "CREATE TABLE keyed USING memory CLUSTERED BY (v) INTO 3 BUCKETS AS SELECT parse_json('1') AS v"
        )
