"""The adapter as Harlequin calls it. Harlequin isn't installed beside the other tests: imports are inside."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.doors

ENDLESS = (
    "SELECT count(*) FROM range(100000) a CROSS JOIN range(100000) b CROSS JOIN range(1000) c"
    " WHERE a.id + b.id = -c.id"
)
ODD = 'odd `na.me`"😀<b>[/]'


@pytest.fixture
def connection() -> Iterator[Any]:
    from sqlfront.harlequin import SqlfrontAdapter

    made = SqlfrontAdapter((), workers="2", unknown_option="x").connect()
    yield made
    made.close()


def rows(connection: Any, text: str) -> list[tuple[Any, ...]]:
    cursor = connection.execute(text)
    table = None if cursor is None else cursor.fetchall()
    return [] if table is None else [tuple(row.values()) for row in table.to_pylist()]


def test_statements_give_arrow_rows_within_the_limit(connection: Any) -> None:
    assert connection.execute("CREATE TABLE t (k INT, s STRING) USING memory") is None
    assert connection.execute("INSERT INTO t VALUES (1, 'a'), (2, NULL)") is None
    cursor = connection.execute("SELECT * FROM t ORDER BY k")
    assert cursor.columns() == [("k", "#"), ("s", "s")]
    assert cursor.fetchall().to_pydict() == {"k": [1, 2], "s": ["a", None]}
    cursor = connection.execute("SELECT id FROM range(1000000000000)").set_limit(100_000)
    assert cursor.fetchall().num_rows == 100_000
    assert connection.execute("SELECT * FROM t WHERE k > 2").fetchall() is None
    assert connection._running == set()


def test_every_type_has_a_label(connection: Any) -> None:
    cursor = connection.execute(
        "SELECT true, 1Y, 1S, 1, 1L, 1F, 1D, 1.5BD, 's', X'00', DATE '2024-01-01', now(),"
        " TIMESTAMP_NTZ '2024-01-01 00:00:00', INTERVAL '1' DAY, INTERVAL '1' YEAR, array(1), map(1, 2),"
        " struct(1), NULL"
    )
    assert all(label != "?" for _, label in cursor.columns())
    assert cursor.fetchall().num_rows == 1


def test_errors_are_harlequins_with_the_caret(connection: Any) -> None:
    from harlequin.exception import HarlequinQueryError

    with pytest.raises(HarlequinQueryError) as raised:
        connection.execute("SELECT wrong FROM range(1)")
    assert "UNRESOLVED_COLUMN" in raised.value.title
    assert raised.value.msg.endswith("LINE 1: SELECT wrong FROM range(1)\n               ^^^^^")
    with pytest.raises(HarlequinQueryError, match="DIVIDE_BY_ZERO"):
        rows(connection, "SELECT 1 / (id - 5) FROM range(10)")
    assert connection._running == set()


def test_a_cancellation_stops_the_query(connection: Any) -> None:
    jobs = connection._connection.session.engine.jobs
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(rows(connection, ENDLESS)))
    thread.start()
    deadline = time.monotonic() + 30
    while not jobs() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert jobs()
    connection.cancel()
    thread.join(30)
    assert found == [[]]
    assert not jobs()
    assert rows(connection, "SELECT 1") == [(1,)]


def test_the_tree_is_read_level_by_level(connection: Any) -> None:
    import pyarrow as pa

    connection.execute("CREATE TABLE Planes (Tail STRING, seats INT) USING memory")
    connection.execute("CREATE VIEW broken AS SELECT tail FROM planes")
    connection._connection.register(ODD, pa.table({ODD: [1]}))
    tree = connection.get_catalog()
    assert [(item.label, item.type_label) for item in tree.items] == [("spark_catalog", "c"), ("system", "c")]
    schemas = {item.label: item for item in tree.items[0].children}
    assert list(schemas) == ["default", "global_temp", "information_schema", "sys"]
    assert schemas["default"].children == []
    broken, planes = schemas["default"].fetch_children()
    assert [(item.label, item.type_label) for item in (broken, planes)] == [("broken", "v"), ("planes", "t")]
    assert [(item.query_name, item.type_label) for item in planes.fetch_children()] == [
        ("`Tail`", "s"),
        ("`seats`", "#"),
    ]
    (session,) = tree.items[1].children
    (odd,) = session.fetch_children()
    assert odd.label == ODD
    assert [item.label for item in odd.fetch_children()] == [ODD]
    for relation in (planes, odd):
        for name in (relation.query_name, relation.qualified_identifier):
            rows(connection, f"SELECT * FROM {name}")
    connection.execute("DROP TABLE planes")
    assert planes.fetch_children() == []
    # A view keeps its columns, as in Spark.
    assert [item.label for item in broken.fetch_children()] == ["tail"]


def test_the_tree_shows_comments(connection: Any) -> None:
    connection.execute(
        "CREATE TABLE planes (tail STRING COMMENT 'as painted\non the [b]plane[/b] \u001b[31m', seats INT)"
        " USING memory COMMENT 'one row a plane'"
    )
    connection.execute(f"CREATE VIEW big (n COMMENT '{'x' * 10_000}') AS SELECT seats FROM planes")
    default = connection.get_catalog().items[0].children[0]
    big, planes = default.fetch_children()
    assert (planes.label, planes.type_label, planes.type_name) == (
        "planes",
        "t one row a plane",
        "BASE TABLE",
    )
    assert [(item.label, item.type_label, item.type_name) for item in planes.fetch_children()] == [
        ("tail", r"s as painted on the [b]plane[/b] \x1b[31m", "string"),
        ("seats", "#", "int"),
    ]
    (column,) = big.fetch_children()
    assert column.type_label == f"# {'x' * 79}…"


def test_completions_and_checks(connection: Any) -> None:
    found = {(item.value, item.type_label): item.label for item in connection.get_completions()}
    assert ("select", "kw") in found
    assert found["abs", "fn"] == "abs(expr)"
    assert connection.validate_sql("select 1; select 2") == "select 1; select 2"
    assert connection.validate_sql("select 1; selec 2") == ""
    assert connection.validate_sql(" -- nothing") == ""


def test_wrong_options_are_refused() -> None:
    from harlequin.exception import HarlequinConfigError, HarlequinConnectionError

    from sqlfront.harlequin import SqlfrontAdapter

    with pytest.raises(HarlequinConfigError, match="one URL"):
        SqlfrontAdapter(("a", "b"))
    with pytest.raises(HarlequinConfigError, match="expected a number"):
        SqlfrontAdapter((), members="many")
    with pytest.raises(HarlequinConnectionError):
        SqlfrontAdapter(("sqlfront:///nowhere/at/all.sock",)).connect()


def test_harlequin_finds_the_adapter() -> None:
    from importlib.metadata import entry_points

    (found,) = entry_points(group="harlequin.adapter", name="sqlfront")
    assert found.load().__name__ == "SqlfrontAdapter"
