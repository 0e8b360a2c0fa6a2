"""DELETE and UPDATE of memory tables, on one member and spread over three, and of tables over files."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

import pytest

import sqlfront
from sqlfront.cluster.embedded import EmbeddedMembers
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_planner.catalog import TableEntry

Rows = list[tuple[object, ...]]


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=3) as connection:
        fill(connection, "USING memory CLUSTERED BY (k)")
        yield connection


@pytest.fixture(params=["memory", "members", "files", "folders"])
def anywhere(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    """A connection whose table is in memory, on several members, in a file, and in folders by key."""
    with sqlfront.connect(members=3 if request.param == "members" else 1, workers=3) as connection:
        places = {"files": "USING parquet", "folders": "USING parquet PARTITIONED BY (s)"}
        fill(connection, places.get(request.param, "USING memory CLUSTERED BY (k)"))
        yield connection


def fill(connection: sqlfront.Connection, using: str) -> None:
    connection.execute(f"CREATE TABLE t (k INT, s STRING, d DECIMAL(5,2)) {using}")
    connection.execute(
        "INSERT INTO t (k, s, d) VALUES (0, 'zero', 0), (1, 'a', 1.5), (2, NULL, 2.5), (NULL, 'n', NULL)"
    )


def ask(connection: sqlfront.Connection, sql: str, arguments: Sequence[object] = ()) -> Rows:
    return connection.execute(sql, arguments).fetchall()


def keys(connection: sqlfront.Connection) -> list[object]:
    return [key for (key,) in ask(connection, "SELECT k FROM t ORDER BY k")]


@pytest.mark.parametrize(
    "condition, left",
    [
        ("s = 'a'", [None, 0, 2]),
        ("k > 0", [None, 0]),
        ("k IS NULL", [0, 1, 2]),
        ("NULL", [None, 0, 1, 2]),
        ("k NOT IN (SELECT max(k) FROM t)", [None, 2]),
        ("EXISTS (SELECT 1 FROM t u WHERE u.k = t.k + 1)", [None, 2]),
    ],
)
def test_delete_takes_the_rows_for_which_the_condition_is_true(
    anywhere: sqlfront.Connection, condition: str, left: list[object]
) -> None:
    cursor = anywhere.execute(f"DELETE FROM t WHERE {condition}")

    assert keys(anywhere) == left
    assert cursor.rowcount == 4 - len(left)
    assert cursor.description is None


def test_delete_takes_an_alias_and_arguments(anywhere: sqlfront.Connection) -> None:
    anywhere.execute("DELETE FROM t AS x WHERE x.k = ?", [1])
    assert keys(anywhere) == [None, 0, 2]
    anywhere.execute("DELETE FROM default.t")
    assert keys(anywhere) == []


def test_update_computes_from_the_row_as_it_was(anywhere: sqlfront.Connection) -> None:
    anywhere.execute("UPDATE t SET k = k + 10, s = concat(s, k), d = k WHERE k < 2")

    assert ask(anywhere, "SELECT k, s, d FROM t ORDER BY k") == [
        (None, "n", None),
        (2, None, Decimal("2.50")),
        (10, "zero0", Decimal("0.00")),
        (11, "a1", Decimal("1.00")),
    ]
    assert ask(anywhere, "SELECT s FROM t WHERE k = 11") == [("a1",)]


def test_values_are_computed_for_the_meant_rows_only(anywhere: sqlfront.Connection) -> None:
    anywhere.execute("UPDATE t x SET x.d = 1 / k WHERE k <> 0")

    assert ask(anywhere, "SELECT d FROM t WHERE k IS NOT NULL ORDER BY k") == [
        (Decimal("0.00"),),
        (Decimal("1.00"),),
        (Decimal("0.50"),),
    ]


def test_update_to_default_is_to_null(anywhere: sqlfront.Connection) -> None:
    anywhere.execute("UPDATE t SET s = DEFAULT")

    assert ask(anywhere, "SELECT count(s) FROM t") == [(0,)]


@pytest.mark.parametrize(
    "sql, condition",
    [
        ("DELETE FROM t WHERE nope = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("DELETE FROM nope", "TABLE_OR_VIEW_NOT_FOUND"),
        ("DELETE FROM t WHERE rand() < 0.5", "INVALID_NON_DETERMINISTIC_EXPRESSIONS"),
        ("UPDATE t SET d = 7 WHERE rand() < 0.5", "INVALID_NON_DETERMINISTIC_EXPRESSIONS"),
        ("UPDATE t SET d = CAST(rand() AS INT)", "INVALID_NON_DETERMINISTIC_EXPRESSIONS"),
        ("DELETE FROM t WHERE k", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        ("DELETE FROM t WHERE 1 / k > 0", "DIVIDE_BY_ZERO"),
        ("DELETE FROM t WHERE row_number() OVER (ORDER BY k) = 1", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
        ("DELETE FROM", "PARSE_SYNTAX_ERROR"),
        ("DELETE t", "PARSE_SYNTAX_ERROR"),
        ("DELETE FROM t, t u", "PARSE_SYNTAX_ERROR"),
        ("DELETE FROM t WHERE k = 1 LIMIT 1", "PARSE_SYNTAX_ERROR"),
        ("DELETE FROM (SELECT 1)", "PARSE_SYNTAX_ERROR"),
        ("UPDATE t SET nope = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("UPDATE t SET k = 1, K = 2", "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS"),
        ("UPDATE t SET k = 'x'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"),
        ("UPDATE t SET k = 3000000000", "CAST_OVERFLOW_IN_TABLE_INSERT"),
        ("UPDATE t WHERE k = 1", "PARSE_SYNTAX_ERROR"),
        ("UPDATE t SET k", "PARSE_SYNTAX_ERROR"),
        ("UPDATE t SET k = 1 WHERE", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_what_is_wrong_changes_nothing(anywhere: sqlfront.Connection, sql: str, condition: str) -> None:
    before = ask(anywhere, "SELECT * FROM t ORDER BY k")

    with pytest.raises(sqlfront.Error) as caught:
        anywhere.execute(sql)

    assert caught.value.condition == condition
    assert ask(anywhere, "SELECT * FROM t ORDER BY k") == before


def test_other_tables_are_refused(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE f USING memory AS SELECT 1 AS a")
    connection.execute("CACHE TABLE f")
    connection.execute("CREATE TEMPORARY VIEW v AS SELECT 1 AS a")

    for sql in ("DELETE FROM f", "UPDATE f SET a = 2", "DELETE FROM v", "UPDATE v SET a = 2"):
        with pytest.raises(sqlfront.NotSupportedError) as caught:
            connection.execute(sql)
        assert caught.value.condition == "UNSUPPORTED_FEATURE.TABLE_OPERATION"


def test_cached_views_follow(anywhere: sqlfront.Connection) -> None:
    anywhere.execute("CREATE TEMPORARY VIEW v AS SELECT k FROM t WHERE k > 0")
    anywhere.execute("CACHE TABLE v")
    anywhere.execute("DELETE FROM t WHERE k = 1")

    assert ask(anywhere, "SELECT * FROM v") == [(2,)]


def test_writers_take_turns(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE counter USING memory AS SELECT id, 0 AS n FROM range(1000)")

    def count() -> None:
        for _ in range(5):
            connection.execute("UPDATE counter SET n = n + 1")

    in_parallel(count, 4)
    assert ask(connection, "SELECT DISTINCT n FROM counter") == [(20,)]


def test_overwriting_from_the_table_itself_loses_no_other_write(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE counter USING memory AS SELECT 0 AS n")

    def count() -> None:
        for _ in range(5):
            connection.execute("INSERT OVERWRITE counter SELECT n + 1 FROM counter")

    in_parallel(count, 4)
    assert ask(connection, "SELECT * FROM counter") == [(20,)]


def test_eight_readers_never_see_a_mix(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE v USING memory CLUSTERED BY (id) AS SELECT id, 0 AS n FROM range(2000)")
    done = threading.Event()
    mixed: list[Rows] = []

    def read() -> None:
        while not done.is_set():
            seen = ask(connection, "SELECT count(*), min(n) = max(n), sum(n) % 2000 FROM v")
            if seen not in ([(2000, True, 0)], [(2001, False, 1)]):
                mixed.append(seen)

    def write() -> None:
        try:
            for _ in range(6):
                connection.execute("UPDATE v SET n = n + 2")
                connection.execute("INSERT INTO v VALUES (-1, 1)")
                connection.execute("DELETE FROM v WHERE id < 0")
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    in_parallel(read, 8)
    writer.join()
    assert mixed == []
    assert ask(connection, "SELECT DISTINCT n FROM v") == [(12,)]


def in_parallel(work: object, count: int) -> None:
    """Run the function on so many threads; the first error is raised here."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# ---- what changes of a few rows leave alone, and what any changes leave


PLACES = [
    "USING memory CLUSTERED BY (k)",
    "USING memory CLUSTERED BY (n, k) INTO 16 BUCKETS",
    "USING memory",
    "USING parquet",
]


@pytest.mark.parametrize("placed", PLACES)
@pytest.mark.parametrize("seed", range(3))
def test_any_changes_leave_what_a_model_says(connection: sqlfront.Connection, placed: str, seed: int) -> None:
    chosen = random.Random(seed)
    connection.execute(f"CREATE TABLE m (k INT, n BIGINT, s STRING) {placed}")
    model: list[tuple[int | None, int, str]] = []
    for number in range(24):
        key, other = chosen.randrange(12), chosen.randrange(12)
        if number % 4 == 0:
            rows = [(chosen.choice([None, *range(12)]), number, f"s{place}") for place in range(8)]
            values = ", ".join(f"({'NULL' if k is None else k}, {n}, '{s}')" for k, n, s in rows)
            connection.execute(f"INSERT INTO m VALUES {values}")
            model += rows
        elif (kind := chosen.randrange(7)) == 0:
            deleted = connection.execute(f"DELETE FROM m WHERE k = {key}").rowcount
            left = [row for row in model if row[0] != key]
            assert deleted == len(model) - len(left)
            model = left
        elif kind == 1:
            connection.execute(f"DELETE FROM m WHERE k IN ({key}, {other}) AND s > 's4' OR k IS NULL")
            model = [
                row for row in model if not ((row[0] in (key, other) and row[2] > "s4") or row[0] is None)
            ]
        elif kind == 2:
            updated = connection.execute(f"UPDATE m SET s = concat(s, '+'), n = n + 1 WHERE k = {key}")
            assert updated.rowcount == sum(k == key for k, _, _ in model)
            model = [(k, n + 1, s + "+") if k == key else (k, n, s) for k, n, s in model]
        elif kind == 3:
            updated = connection.execute(f"UPDATE m SET k = {other} WHERE k = {key}")
            assert updated.rowcount == sum(k == key for k, _, _ in model)
            model = [(other if k == key else k, n, s) for k, n, s in model]
        elif kind == 4:
            connection.execute("UPDATE m SET s = 'most' WHERE n = (SELECT max(n) FROM m)")
            most = max(n for _, n, _ in model)
            model = [(k, n, "most") if n == most else (k, n, s) for k, n, s in model]
        elif kind == 5:
            connection.execute("DELETE FROM m WHERE EXISTS (SELECT 1 FROM m o WHERE o.k = m.k AND o.n < m.n)")
            least = {k: min(n for each, n, _ in model if each == k) for k, _, _ in model}
            model = [row for row in model if row[0] is None or row[1] == least[row[0]]]
        else:
            assert connection.execute("UPDATE m SET n = n + 1").rowcount == len(model)
            model = [(k, n + 1, s) for k, n, s in model]
        assert Counter(ask(connection, "SELECT * FROM m")) == Counter(model)
        assert ask(connection, "SELECT count(*), count(k) FROM m") == [
            (len(model), sum(k is not None for k, _, _ in model))
        ]
        assert ask(connection, f"SELECT count(*) FROM m WHERE k = {key}") == [
            (sum(k == key for k, _, _ in model),)
        ]


@pytest.mark.parametrize("members", [1, 3])
def test_a_change_of_one_row_shares_the_others(members: int) -> None:
    with sqlfront.connect(members=members, workers=2) as connection:
        connection.execute(
            "CREATE TABLE v USING memory CLUSTERED BY (id) AS SELECT id, 0 AS n FROM range(9000)"
        )
        before = _batches(connection)
        connection.execute("UPDATE v SET n = 1 WHERE id = 77")
        connection.execute("DELETE FROM v WHERE id = 78")

        assert before <= _batches(connection)
        assert ask(connection, "SELECT count(*), sum(n), sum(id) FROM v") == [
            (8999, 1, sum(range(9000)) - 78)
        ]


def _batches(connection: sqlfront.Connection) -> set[int]:
    """Which batches the table's rows lie in."""
    entry = connection.session.context.catalog.lookup(("v",))
    assert isinstance(entry, TableEntry)
    table = entry.table
    if isinstance(table, MemoryTable):
        return {id(segment.batch) for segment in table.snapshot().segments}
    assert isinstance(table, SpreadTable)
    assert isinstance(connection.session.cluster, EmbeddedMembers)
    key = table.snapshot().held.key
    assert key is not None
    shares = [store[key] for store in connection.session.cluster._stores.values()]
    return {
        id(segment.batch) for share in shares if isinstance(share, TableShare) for segment in share.segments
    }


def test_a_snapshot_of_before_stays_as_it_was(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE v USING memory CLUSTERED BY (id) AS SELECT id FROM range(100000)")
    cursor = connection.execute("SELECT id FROM v")
    first = cursor.fetchmany(10)
    connection.execute("DELETE FROM v WHERE id % 2 = 0")

    assert len(first) + len(cursor.fetchall()) == 100000
    assert ask(connection, "SELECT count(*) FROM v") == [(50000,)]


@pytest.mark.parametrize("column", ["k", "s", "d"])
@pytest.mark.parametrize("condition", ["k = 7", "k > 7", "s = 'no such'", "k = 1"])
def test_values_of_a_wrong_type_are_an_error_whether_or_not_a_row_is_affected(
    connection: sqlfront.Connection, column: str, condition: str
) -> None:
    wrong = {"k": True, "s": [1], "d": "1"}[column]
    with pytest.raises(sqlfront.ProgrammingError, match=f"Cannot safely cast `{column}`") as caught:
        connection.execute(f"UPDATE t SET {column} = ? WHERE {condition}", [wrong])
    assert caught.value.condition == "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
    assert keys(connection) == [None, 0, 1, 2]


@pytest.mark.parametrize("column", ["k", "s", "d"])
@pytest.mark.parametrize("condition", ["k = 7", "k > 7", "s = 'no such'", "k = NULL"])
def test_a_value_that_is_an_error_is_one_also_if_no_row_is_affected(
    connection: sqlfront.Connection, column: str, condition: str
) -> None:
    """On several members the new values of a clustering column were not evaluated then."""
    wrong = {"k": "CAST('x' AS INT)", "s": "CAST(CAST('x' AS INT) AS STRING)", "d": "1 / 0"}[column]
    with pytest.raises(sqlfront.DataError) as caught:
        connection.execute(f"UPDATE t SET {column} = {wrong} WHERE {condition}")
    assert caught.value.condition == ("DIVIDE_BY_ZERO" if column == "d" else "CAST_INVALID_INPUT")
    assert keys(connection) == [None, 0, 1, 2]
