"""SHOW CREATE TABLE gives a statement that makes the same table."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront import Connection

TYPES = (
    "INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "BOOLEAN", "STRING", "BINARY", "DATE",
    "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL(5,2)", "DECIMAL(38,0)", "INTERVAL DAY TO SECOND",
    "INTERVAL YEAR TO MONTH",
)  # fmt: skip
NAMES = (
    "a",
    "B",
    "1",
    "1a",
    "select",
    "order",
    "with space",
    "d.o.t",
    "tick`s",
    "quo'te",
    'dou"ble',
    "Ä",
    "😀",
    "",
    "a,b",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with sqlfront.connect(workers=1) as made:
        yield made


def a_name(choice: random.Random, taken: set[str]) -> str:
    name = choice.choice(NAMES)
    while name.lower() in taken:
        name += choice.choice("xyz")
    taken.add(name.lower())
    return "`" + name.replace("`", "``") + "`"


def a_type(choice: random.Random, depth: int = 2) -> str:
    kind = choice.randrange(6) if depth else 5
    if kind == 0:
        return f"ARRAY<{a_type(choice, depth - 1)}>"
    if kind == 1:
        return f"MAP<{choice.choice(TYPES[:8])}, {a_type(choice, depth - 1)}>"
    if kind == 2:
        taken: set[str] = set()
        fields = (
            f"{a_name(choice, taken)}: {a_type(choice, depth - 1)}{a_comment(choice)}"
            for _ in range(choice.randint(1, 3))
        )
        return f"STRUCT<{', '.join(fields)}>"
    return choice.choice(TYPES)


def a_table(choice: random.Random, folder: Path) -> str:
    """A CREATE TABLE statement of the table `t`."""
    taken: set[str] = set()
    columns = [(a_name(choice, taken), a_type(choice)) for _ in range(choice.randint(1, 5))]
    columns.insert(0, (a_name(choice, taken), choice.choice(("INT", "STRING"))))
    declared = ", ".join(f"{name} {kind}{some_clauses(choice)}" for name, kind in columns)
    return f"CREATE TABLE t ({declared}) {storage(choice, columns[0][0], folder)}{some_details(choice)}"


def a_comment(choice: random.Random) -> str:
    return choice.choice(("", f" COMMENT {a_text(choice)}"))


def a_text(choice: random.Random) -> str:
    """A literal of a text that is hard to quote."""
    text = "".join(choice.choice("a'\"\\`\n\t;-% 😀é_") for _ in range(choice.randrange(8)))
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def some_clauses(choice: random.Random) -> str:
    """Clauses of a column: NOT NULL and COMMENT, or none."""
    required = choice.choice((" NOT NULL", "", ""))
    return required + choice.choice((f" COMMENT {a_text(choice)}", ""))


def some_details(choice: random.Random) -> str:
    """COMMENT and TBLPROPERTIES of a table, or none."""
    keys = choice.sample(("k", "K", "a.b", "with space", "it\\'s", "é", ""), choice.randrange(4))
    properties = ", ".join(f"'{key}' = {a_text(choice)}" for key in keys)
    comment = choice.choice((f" COMMENT {a_text(choice)}", ""))
    return comment + (f" TBLPROPERTIES ({properties})" if keys else "")


def storage(choice: random.Random, first: str, folder: Path) -> str:
    """USING and where the rows are; ``first`` is the first column."""
    text = "USING "
    kind = choice.choice(("memory", "buckets", "backups", "parquet", "location", "partitioned"))
    match kind:
        case "backups":
            return f"{text}memory OPTIONS (backups {choice.randrange(3)})"
        case "buckets":
            return f"{text}memory CLUSTERED BY ({first}) INTO {choice.randint(1, 300)} BUCKETS"
        case "location":
            quoted = str(folder / choice.choice(("x y", "it's", "plain"))).replace("'", "\\'")
            return f"{text}parquet OPTIONS ('mergeSchema' = 'true') LOCATION '{quoted}'"
        case "partitioned":
            return f"{text}parquet PARTITIONED BY ({first})"
        case _:
            return text + kind


@pytest.mark.parametrize("seed", range(30))
def test_the_statement_makes_the_same_table(connection: Connection, seed: int, tmp_path: Path) -> None:
    made = a_table(random.Random(seed), tmp_path)
    connection.execute(made)
    try:
        columns = connection.execute("DESCRIBE t").fetchall()
        properties = connection.execute("SHOW TBLPROPERTIES t").fetchall()
        ((text,),) = connection.execute("SHOW CREATE TABLE t").fetchall()
        connection.execute("DROP TABLE t")
        connection.execute(str(text))
        assert connection.execute("DESCRIBE t").fetchall() == columns, text
        assert connection.execute("SHOW TBLPROPERTIES t").fetchall() == properties
        assert connection.execute("SHOW CREATE TABLE t").fetchall() == [(text,)]
    finally:
        connection.execute("DROP TABLE IF EXISTS t")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mixed", "spark_catalog.default.mixed"),
        ("MIXED", "spark_catalog.default.MIXED"),
        ("DEFAULT.Mixed", "spark_catalog.DEFAULT.Mixed"),
        ("Spark_Catalog.Default.`miXed`", "spark_catalog.Default.miXed"),
    ],
)
def test_a_table_is_shown_in_the_letters_of_the_statement(
    connection: Connection, name: str, shown: str
) -> None:
    connection.execute("CREATE OR REPLACE TABLE MiXed (a INT) USING memory")
    ((text,),) = connection.execute(f"SHOW CREATE TABLE {name}").fetchall()

    assert text == f"CREATE TABLE {shown} (\n  a INT)\nUSING memory\n"


def test_a_view_is_shown_in_small_letters(connection: Connection) -> None:
    connection.execute("CREATE OR REPLACE VIEW ViEw AS SELECT 1 AS a")
    ((text,),) = connection.execute("SHOW CREATE TABLE DEFAULT.View").fetchall()

    assert text == "CREATE VIEW default.view (\n  a)\nWITH SCHEMA COMPENSATION\nAS SELECT 1 AS a\n"


def test_views_are_made_again(connection: Connection) -> None:
    connection.execute("CREATE VIEW named (`a b`, c) AS SELECT 1, 'x' -- why")
    ((text,),) = connection.execute("SHOW CREATE TABLE named").fetchall()
    assert text == (
        "CREATE VIEW default.named (\n  `a b`,\n  c)\nWITH SCHEMA COMPENSATION\nAS SELECT 1, 'x'\n"
    )
    connection.execute("DROP VIEW named")
    connection.execute(str(text))
    assert connection.execute("SELECT * FROM named").fetchall() == [(1, "x")]
    connection.execute("DROP VIEW named")


def test_other_modes_of_a_views_schema_are_refused(connection: Connection) -> None:
    with pytest.raises(sqlfront.NotSupportedError, match="WITH SCHEMA"):
        connection.execute("CREATE VIEW evolving WITH SCHEMA EVOLUTION AS SELECT 1 AS a")


def test_views_keep_comments_and_properties(connection: Connection) -> None:
    connection.execute(
        "CREATE VIEW kept (a COMMENT 'it\\'s', `b c`) COMMENT '\\\\' "
        "TBLPROPERTIES ('k' = '\n') AS SELECT 1, 2"
    )
    ((text,),) = connection.execute("SHOW CREATE TABLE kept").fetchall()
    details = connection.execute("DESCRIBE EXTENDED kept").fetchall()
    connection.execute("DROP VIEW kept")
    connection.execute(str(text))
    assert connection.execute("DESCRIBE EXTENDED kept").fetchall() == details
    connection.execute("DROP VIEW kept")


def test_clauses_stand_in_sparks_order_without_secrets(connection: Connection, tmp_path: Path) -> None:
    connection.execute(
        f"CREATE TABLE t (a INT) USING csv OPTIONS (nullValue = 'token', sep = ';') LOCATION '{tmp_path}' "
        "TBLPROPERTIES (secret = 's3', plain = 'p') COMMENT 'c'"
    )
    (text,) = connection.execute("SHOW CREATE TABLE t").fetchone() or ()

    assert text == (
        "CREATE TABLE spark_catalog.default.t (\n  a INT)\n"
        "USING csv\n"
        "OPTIONS (\n  'nullValue' = '*********(redacted)',\n  'sep' = ';')\n"
        "COMMENT 'c'\n"
        f"LOCATION 'file:{tmp_path}'\n"
        "TBLPROPERTIES (\n  'plain' = 'p',\n  'secret' = '*********(redacted)')\n"
    )


def test_the_statement_of_a_view_has_its_secrets(connection: Connection) -> None:
    connection.execute("CREATE VIEW v TBLPROPERTIES (secret = 's3') AS SELECT 1 AS a")
    (text,) = connection.execute("SHOW CREATE TABLE v").fetchone() or ()

    assert "TBLPROPERTIES (\n  'secret' = 's3')\n" in str(text)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("CASED", "spark_catalog.default.CASED"),
        ("Default.Cased", "spark_catalog.Default.Cased"),
        ("SPARK_CATALOG.default.`cased`", "spark_catalog.default.cased"),
        ("Seen", "default.seen"),
        ("DEFAULT.SEEN", "default.seen"),
    ],
)
def test_a_tables_name_is_shown_as_written(connection: Connection, name: str, shown: str) -> None:
    # Spark 4.3: a view's name is in lower case.
    connection.execute("CREATE TABLE IF NOT EXISTS cased (a INT) USING parquet")
    connection.execute("CREATE VIEW IF NOT EXISTS seen AS SELECT * FROM cased")
    (text,) = connection.execute(f"SHOW CREATE TABLE {name}").fetchone() or ()
    assert str(text).split()[2] == shown
