"""Comments, properties and NOT NULL of relations: where they are shown, who keeps them, which writes fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import sqlfront
from sqlfront import Connection


@pytest.fixture(params=[1, 2])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with sqlfront.connect(workers=1, members=request.param) as made:
        made.execute(
            "CREATE TABLE t (k INT NOT NULL COMMENT 'the key', s STRING) COMMENT 'rows' "
            "TBLPROPERTIES ('owner.team' = 'x') CLUSTERED BY (k) INTO 4 BUCKETS"
        )
        yield made


def ask(connection: Connection, query: str) -> list[tuple[object, ...]]:
    return connection.execute(query).fetchall()


def test_information_schema_shows_comments_and_not_null(connection: Connection) -> None:
    columns = (
        "SELECT column_name, is_nullable, comment FROM information_schema.columns WHERE table_name = 't'"
    )
    assert ask(connection, columns) == [("k", "NO", "the key"), ("s", "YES", None)]
    tables = "SELECT comment FROM information_schema.tables WHERE table_name = 't'"
    assert ask(connection, tables) == [("rows",)]
    connection.execute("COMMENT ON COLUMN t.s IS 'a text'")
    connection.execute("ALTER TABLE t SET TBLPROPERTIES ('comment' = 'other')")
    assert ask(connection, columns)[1] == ("s", "YES", "a text")
    assert ask(connection, tables) == [("other",)]


def test_a_copy_in_memory_changes_no_details(connection: Connection) -> None:
    details = ask(connection, "SHOW CREATE TABLE t")
    connection.execute("INSERT INTO t VALUES (1, 'x')")
    connection.execute("CACHE TABLE t")
    assert ask(connection, "SHOW CREATE TABLE t") == details
    connection.execute("COMMENT ON TABLE t IS 'cached'")
    assert ask(connection, "SELECT * FROM t") == [(1, "x")]
    connection.execute("UNCACHE TABLE t")
    assert ("Comment", "cached", "") in ask(connection, "DESCRIBE EXTENDED t")
    assert ask(connection, "SELECT * FROM t") == [(1, "x")]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (2, 'y'), (NULL, 'z')",
        "INSERT INTO t (s) VALUES ('y')",
        "INSERT INTO t SELECT if(id = 90, NULL, id), 'y' FROM range(100)",
        "INSERT OVERWRITE t SELECT NULL, 'y'",
        "UPDATE t SET k = NULL",
        "UPDATE t SET K = nullif(k, 1), s = 'y' WHERE s = 'x'",
    ],
)
def test_a_null_in_a_required_column_changes_nothing(connection: Connection, statement: str) -> None:
    connection.execute("INSERT INTO t VALUES (1, 'x')")
    with pytest.raises(sqlfront.IntegrityError, match=r"NOT_NULL_ASSERT_VIOLATION.*field: k"):
        connection.execute(statement)
    assert ask(connection, "SELECT * FROM t") == [(1, "x")]


def test_executemany_checks_required_columns(connection: Connection) -> None:
    with pytest.raises(sqlfront.IntegrityError, match="field: k"):
        connection.cursor().executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (None, "y")])
    assert ask(connection, "SELECT * FROM t") == []


def test_a_repeated_update_checks_required_columns(connection: Connection) -> None:
    connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    for value in (3, 4, 5):
        connection.execute("UPDATE t SET k = ? WHERE s = 'x'", [value])
    with pytest.raises(sqlfront.IntegrityError, match="field: k"):
        connection.execute("UPDATE t SET k = ? WHERE s = 'x'", [None])
    connection.execute("UPDATE t SET s = ? WHERE k = 5", [None])
    assert sorted(ask(connection, "SELECT * FROM t"), key=str) == [(2, "y"), (5, None)]


def test_simultaneous_changes_lose_none(connection: Connection) -> None:
    def change(number: int) -> None:
        connection.execute(f"ALTER TABLE t SET TBLPROPERTIES ('p{number}' = '{number}')")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, range(40)))
    properties = ask(connection, "SHOW TBLPROPERTIES t")
    assert {str(key): value for key, value in properties} == {
        "owner.team": "x",
        **{f"p{number}": str(number) for number in range(40)},
    }


def test_json_tells_all_about_a_table(connection: Connection) -> None:
    connection.execute(
        "CREATE TABLE j (a INT NOT NULL, b DECIMAL(5, 2) COMMENT '\"é😀', c ARRAY<STRUCT<x: STRING>>, "
        "d MAP<DATE, TIMESTAMP>, e INTERVAL DAY TO SECOND, f INTERVAL YEAR) COMMENT 'c' "
        "TBLPROPERTIES ('k' = 'v', 'empty' = '') CLUSTERED BY (a) INTO 4 BUCKETS"
    )
    ((text,),) = ask(connection, "DESCRIBE EXTENDED j AS JSON")
    string = {"name": "string", "collation": "UTF8_BINARY"}
    fields = [{"name": "x", "type": string, "nullable": True}]
    assert json.loads(str(text)) == {
        "table_name": "j",
        "catalog_name": "spark_catalog",
        "namespace": ["default"],
        "schema_name": "default",
        "columns": [
            {"name": "a", "type": {"name": "int"}, "nullable": False},
            {
                "name": "b",
                "type": {"name": "decimal", "precision": 5, "scale": 2},
                "nullable": True,
                "comment": '"é😀',
            },
            {
                "name": "c",
                "type": {
                    "name": "array",
                    "element_type": {"name": "struct", "fields": fields},
                    "element_nullable": True,
                },
                "nullable": True,
            },
            {
                "name": "d",
                "type": {
                    "name": "map",
                    "key_type": {"name": "date"},
                    "value_type": {"name": "timestamp_ltz"},
                    "value_nullable": True,
                },
                "nullable": True,
            },
            {
                "name": "e",
                "type": {"name": "interval", "start_unit": "day", "end_unit": "second"},
                "nullable": True,
            },
            {
                "name": "f",
                "type": {"name": "interval", "start_unit": "year", "end_unit": "year"},
                "nullable": True,
            },
        ],
        "num_buckets": 4,
        "bucket_columns": ["a"],
        "sort_columns": [],
        "type": "MANAGED",
        "provider": "memory",
        "comment": "c",
        "table_properties": {"k": "v"},
        "collation": "UTF8_BINARY",
    }


def test_json_of_temporary_views_names_their_schema(connection: Connection) -> None:
    connection.execute("CREATE TEMPORARY VIEW tv AS SELECT k FROM t")
    ((text,),) = ask(connection, "DESCRIBE EXTENDED tv AS JSON")
    found = json.loads(str(text))
    assert (found["catalog_name"], found["schema_name"], found["type"]) == ("system", "session", "VIEW")
    assert [column["comment"] for column in found["columns"]] == ["the key"]
    assert found["view_text"] == "SELECT k FROM t"


@pytest.mark.parametrize("scope", ["TEMPORARY", "GLOBAL TEMPORARY"])
def test_json_of_temporary_views_has_no_comment_of_the_view(connection: Connection, scope: str) -> None:
    # Spark 4.3: the comment isn't among the fields; the schema is `session`, of global views, too.
    connection.execute(f"CREATE {scope} VIEW gv COMMENT 'of the view' AS SELECT k FROM t")
    name = "global_temp.gv" if scope.startswith("GLOBAL") else "gv"
    ((text,),) = ask(connection, f"DESCRIBE EXTENDED {name} AS JSON")
    found = json.loads(str(text))
    assert (found["catalog_name"], found["namespace"], found["schema_name"]) == (
        "system",
        ["session"],
        "session",
    )
    assert "comment" not in found


def test_json_has_the_name_of_a_table_as_written(connection: Connection) -> None:
    # Spark 4.3: a table's names are those of the statement, a permanent view's are in lower case.
    connection.execute("CREATE TABLE cased (a INT) USING csv")
    connection.execute("CREATE VIEW Viewed AS SELECT * FROM cased")
    places = []
    for name in ("Default.CASED", "Default.VIEWED"):
        ((text,),) = ask(connection, f"DESCRIBE EXTENDED {name} AS JSON")
        found = json.loads(str(text))
        places.append((found["catalog_name"], *found["namespace"], found["schema_name"], found["table_name"]))
    assert places == [
        ("spark_catalog", "Default", "Default", "CASED"),
        ("spark_catalog", "default", "default", "viewed"),
    ]


@pytest.mark.parametrize("relation", ["TABLE r (a INT) USING csv {}", "VIEW r {} AS SELECT 1 AS a"])
def test_secrets_are_not_described(connection: Connection, relation: str) -> None:
    properties = "TBLPROPERTIES (password = '', plain = 'p', note = 'my password', secret = 's3')"
    connection.execute(f"CREATE {relation.format(properties)}")
    shown = "[note=*********(redacted), plain=p, secret=*********(redacted)]"

    assert ("Table Properties", shown, "") in connection.execute("DESCRIBE EXTENDED r").fetchall()
    ((*_, extended),) = connection.execute("SHOW TABLE EXTENDED LIKE 'r'").fetchall()
    assert f"Table Properties: {shown}\n" in str(extended)
    ((text,),) = connection.execute("DESCRIBE EXTENDED r AS JSON").fetchall()
    assert json.loads(str(text))["table_properties"] == {
        "note": "*********(redacted)",
        "plain": "p",
        "secret": "*********(redacted)",
    }
