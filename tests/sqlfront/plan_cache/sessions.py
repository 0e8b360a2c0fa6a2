"""Sessions with the same tables, with cached plans and without, and their answers."""

import sqlfront
from sqlfront import Connection
from sqlfront.config import Config
from sqlfront.prepared import PreparedStatement
from sqlfront_values.errors import Error

#: Names and types, then rows; or what an error says.
Answer = tuple[object, ...]

TABLES = (
    """CREATE TABLE t (k BIGINT, i INT, y TINYINT, d DECIMAL(10, 2), f DOUBLE, st STRING, dt DATE,
       ts TIMESTAMP, b BOOLEAN) USING memory CLUSTERED BY (k) INTO 7 BUCKETS""",
    """INSERT INTO t VALUES
       (1, 1, 1Y, 1.00, 1D, '1', DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', true),
       (2, 2, 2Y, 1.50, 1.5D, '01', DATE '2020-01-02', TIMESTAMP '2020-01-01 00:00:00.5', false),
       (-1, -1, -1Y, -1.00, -1D, '-1', DATE '1999-12-31', TIMESTAMP '1999-12-31 23:59:59', null),
       (10, 300, 10Y, 300.00, DOUBLE('NaN'), 'it\\'s', DATE '2021-01-01', TIMESTAMP '2021-06-01 12:00:00',
        true),
       (3000000000, 5, 5Y, 5.55, 1e10, 'a\\\\b', DATE '2020-02-29', TIMESTAMP '2020-02-29 01:02:03', true),
       (null, null, null, null, null, null, null, null, null)""",
    "CREATE TABLE p (d DECIMAL(10, 2), k BIGINT) USING memory CLUSTERED BY (d) INTO 5 BUCKETS",
    "INSERT INTO p SELECT cast(id AS DECIMAL(10, 2)), id FROM range(-20, 120)",
    "CREATE TABLE u (x STRING, n INT) USING memory CLUSTERED BY (x) INTO 5 BUCKETS",
    "INSERT INTO u VALUES ('a', 1), ('b', 2), ('1', 3), ('01', 4), ('2020-01-01', 5), ('', 6)",
)


def connection(plan_cache: int) -> Connection:
    """A session with the tables that keeps so many plans."""
    connection = sqlfront.connect(config=Config(plan_cache=plan_cache))
    for statement in TABLES:
        connection.execute(statement)
    return connection


def answer(
    connection: Connection, text: "str | PreparedStatement", parameters: tuple[object, ...] | None = None
) -> Answer:
    """What the statement gives, in an order that doesn't matter."""
    try:
        cursor = connection.cursor().execute(text, parameters)
        columns = [(name, str(kind)) for name, kind, *_ in cursor.description or ()]
        return (*columns, *sorted(map(repr, cursor.fetchall())))
    except Error as error:
        return type(error).__name__, error.condition, str(error)
