"""Names of tables: in backticks or not, they are never a path."""

from pathlib import Path

import pytest

import sqlfront
from sqlfront import Config
from sqlfront_planner.statements.dotted_names import dotted, name_parts

ODD = [
    "e-f",
    "a/b",
    "x/../../../esc",
    "a b",
    "a.b",
    "",
    "a`b",
    "é",
    "..",
    "/tmp/x",
    "a\nb",
    "x" * 100_000 + "-",
]


#: Of these Spark says that they are no names at all (asked).
NO_NAMES = {"x/../../../esc", "a`b", ".."}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return tmp_path / "in" / "warehouse"


@pytest.mark.parametrize("name", ODD, ids=lambda name: name[:10])
@pytest.mark.parametrize(
    "what", ["TABLE {} (a INT) USING parquet", "TABLE {} AS SELECT 1 AS a", "VIEW {} AS SELECT 1 AS a"]
)
def test_a_relation_that_stays_has_a_plain_name(warehouse: Path, name: str, what: str) -> None:
    with sqlfront.connect(config=Config(warehouse=str(warehouse))) as connection:
        with pytest.raises(sqlfront.ProgrammingError) as caught:
            connection.execute(f"CREATE {what.format(dotted((name,)))}")
        kind = "INVALID_ATTRIBUTE_NAME_SYNTAX" if name in NO_NAMES else "INVALID_SCHEMA_OR_RELATION_NAME"
        assert caught.value.condition == kind
        assert connection.execute("SHOW TABLES").fetchall() == []
    assert not [path for path in warehouse.parent.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ODD, ids=lambda name: name[:10])
def test_a_temporary_table_has_any_name_and_stays_where_it_belongs(
    tmp_path: Path, warehouse: Path, name: str
) -> None:
    quoted = dotted((name,))
    with sqlfront.connect(config=Config(warehouse=str(warehouse))) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE {quoted} USING parquet AS SELECT 1 AS a")
        connection.execute(f"INSERT INTO {quoted} VALUES (2)")
        assert connection.execute(f"SELECT a FROM {quoted} ORDER BY a").fetchall() == [(1,), (2,)]
        assert connection.execute("SHOW TABLES").fetchall() == [("", name.lower(), True)]
        found = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert found and all(path.is_relative_to(warehouse) for path in found)
        connection.execute(f"DROP TABLE {quoted}")
        assert connection.execute("SHOW TABLES").fetchall() == []


@pytest.mark.parametrize("name", ODD, ids=lambda name: name[:10])
def test_parts_are_read_as_they_are_written(name: str) -> None:
    assert name_parts(dotted(("a", name, "b"))) == ("a", name, "b")
