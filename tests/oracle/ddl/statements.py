"""Sequences of statements that make, change and inspect tables and views; the same for the same seed.

Few names, so that statements meet: of tables, views and temporary views, some of them of another kind than
the statement expects.
"""

import random
from collections.abc import Callable, Iterator
from typing import Final

#: The formats of tables.
PROVIDERS: Final = ("parquet", "memory")
_TABLES: Final = ("t", "u", "T")
_VIEWS: Final = ("v", "w")
_TEMPORARY: Final = ("tv", "t")
_ABSENT: Final = ("nosuch", "nosuch.t", "a.b.t", "global_temp.tv")
_COLUMNS: Final = ("a", "b", "C", "d", "`we ird`", "s")
_TYPES: Final = ("INT", "STRING", "DECIMAL(7,2)", "DATE", "ARRAY<INT>", "MAP<STRING, BIGINT>", "BOOLEAN")
_STRUCTS: Final = (
    "STRUCT<x: INT, y: STRING>",
    "STRUCT<x: INT COMMENT 'of x', `y z`: ARRAY<STRUCT<q: INT COMMENT 'q''s'>> COMMENT 'many'>",
    "STRUCT<x: INT COMMENT '', y: MAP<STRUCT<k: INT COMMENT 'key'>, STRUCT<v: STRING COMMENT 'value'>>>",
)
_TEXTS: Final = ("'one'", "'it''s'", "''", '"two"', "'😀 \\\\ %'", "'a\\nb'")
_KEYS: Final = ("'k'", "k.l", "'K'", "'comment'")
_VALUES: Final = ("'v'", "1", "true", "''", "1.50")
_QUERIES: Final = (
    "SELECT * FROM t",
    "SELECT a, b FROM t",
    "SELECT a AS x, a + 1 AS y FROM t",
    "SELECT * FROM u",
    "SELECT t.a, u.b FROM t JOIN u ON t.a = u.a",
    "SELECT 1 AS a, 'x' AS b",
    "SELECT * FROM v",
    "SELECT * FROM tv",
    "WITH c AS (SELECT a, b FROM t) SELECT b, a FROM c",
    "SELECT max(a) AS m, b FROM t GROUP BY b",
    "SELECT nosuch FROM t",
)
#: Not for CREATE OR REPLACE VIEW: Spark has dropped the view by the time it finds the two columns.
_TWICE: Final = "SELECT a, a FROM t"
_PATTERNS: Final = ("'t*'", "'*'", "'v|tv'", "'T'", "'.'", "'['", "'nosuch'")
_SCHEMAS: Final = ("default", "spark_catalog.default", "nosuch", "a.b")
_FUNCTIONS: Final = ("'abs'", "'a*s'", "'['", "'concat|upper'")


class Author:
    """A writer of one sequence. ``provider`` is the format of the tables: memory tables have no partition
    columns, and keep NOT NULL, which Spark forgets."""

    def __init__(self, seed: str, provider: str) -> None:
        self._chance = random.Random(seed)
        self._provider = provider

    def sequence(self, length: int) -> Iterator[str]:
        """Two tables, a view and a temporary view, then as many statements as ``length`` says."""
        yield f"CREATE TABLE t {self._columns(('a', 'b'))} USING {self._provider}{self._clauses()}"
        yield f"CREATE TABLE u {self._columns(('a', 'b', 's'))} USING {self._provider}"
        yield f"CREATE VIEW v {self._view_columns(('x', 'y'))} AS SELECT a, b FROM t"
        yield f"CREATE TEMPORARY VIEW tv{self._comment()} AS SELECT a, b FROM t"
        for _ in range(length):
            yield self._chance.choice(self._kinds())()

    def _kinds(self) -> tuple[Callable[[], str], ...]:
        changes = (
            self._create_table,
            self._create_table_as,
            self._create_view,
            self._drop,
            self._set_properties,
            self._unset_properties,
            self._rename,
            self._add_columns,
            self._alter_column,
            self._alter_view,
            self._comment_on,
        )
        return (*changes, *(self._describe, self._show, self._listing, self._select, self._context) * 2)

    # ---- pieces

    def _one(self, *texts: str) -> str:
        return self._chance.choice(texts)

    def _maybe(self, text: str, share: float = 0.3) -> str:
        return text if self._chance.random() < share else ""

    def _relation(self, usual: tuple[str, ...]) -> str:
        others = (*_TABLES, *_VIEWS, *_TEMPORARY, *_ABSENT)
        name = self._one(*usual) if self._chance.random() < 0.8 else self._one(*others)
        return self._maybe("default.", 0.1) + name if "." not in name else name

    def _comment(self) -> str:
        return self._maybe(f" COMMENT {self._one(*_TEXTS)}")

    def _properties(self) -> str:
        keys = self._chance.sample(_KEYS, self._chance.randint(1, 2))
        return f"TBLPROPERTIES ({', '.join(f'{key} = {self._one(*_VALUES)}' for key in keys)})"

    def _column(self, name: str) -> str:
        kind = {"a": "INT", "b": "STRING", "s": self._one(*_STRUCTS)}.get(name) or self._one(*_TYPES)
        required = self._maybe(" NOT NULL", 0.1) if self._provider != "memory" else ""
        return f"{name} {kind}{required}{self._comment()}"

    def _columns(self, usual: tuple[str, ...]) -> str:
        more = self._chance.sample(_COLUMNS, self._chance.randint(0, 2))
        twice = self._chance.random() < 0.05
        names = dict.fromkeys((*usual, *more))
        return f"({', '.join(map(self._column, (*names, *(['A'] if twice else []))))})"

    def _clauses(self) -> str:
        clauses = [self._comment().strip(), self._maybe(self._properties())]
        if self._provider != "memory":
            clauses.append(self._maybe(f"PARTITIONED BY ({self._one('b', 'b', 'a')})", 0.2))
        self._chance.shuffle(clauses)
        return "".join(f" {clause}" for clause in clauses if clause)

    def _view_columns(self, names: tuple[str, ...]) -> str:
        return f"({', '.join(f'{name}{self._comment()}' for name in names)})"

    # ---- statements that change

    def _create_table(self) -> str:
        condition = self._maybe("IF NOT EXISTS ")
        columns = self._columns(("a", "b"))
        made = f"{self._relation(_TABLES)} {columns} USING {self._provider}{self._clauses()}"
        return f"CREATE TABLE {condition}{made}"

    def _create_table_as(self) -> str:
        query = self._one(*_QUERIES, _TWICE)
        return f"CREATE TABLE {self._relation(_TABLES)} USING {self._provider}{self._clauses()} AS {query}"

    def _create_view(self) -> str:
        temporary = self._one("", "", "TEMPORARY ")
        name = self._relation(_TEMPORARY if temporary else _VIEWS)
        columns = self._maybe(self._view_columns(("x", "y")))
        details = f"{self._comment()}{self._maybe(f' {self._properties()}', 0.2)}"
        replacing = self._one("OR REPLACE ", "OR REPLACE ", "")
        condition = self._maybe("IF NOT EXISTS ") if not replacing and not temporary else ""
        query = self._one(*_QUERIES)
        return f"CREATE {replacing}{temporary}VIEW {condition}{name}{columns}{details} AS {query}"

    def _drop(self) -> str:
        kind, usual = self._kind()
        return f"DROP {kind} {self._maybe('IF EXISTS ', 0.5)}{self._relation(usual)}"

    def _kind(self) -> tuple[str, tuple[str, ...]]:
        return self._chance.choice((("TABLE", _TABLES), ("VIEW", (*_VIEWS, *_TEMPORARY))))

    def _set_properties(self) -> str:
        kind, usual = self._kind()
        return f"ALTER {kind} {self._relation(usual)} SET {self._properties()}"

    def _unset_properties(self) -> str:
        kind, usual = self._kind()
        condition = self._maybe("IF EXISTS ")
        return f"ALTER {kind} {self._relation(usual)} UNSET TBLPROPERTIES {condition}({self._one(*_KEYS)})"

    def _rename(self) -> str:
        kind, usual = self._kind()
        target = self._one(*_TABLES, *_VIEWS, *_TEMPORARY, "x", "default.x", "nosuch.x", "a.b.c", "`we ird`")
        return f"ALTER {kind} {self._relation(usual)} RENAME TO {target}"

    def _add_columns(self) -> str:
        names = self._chance.sample(("e", "f", "G", "a", "B", "s"), self._chance.randint(1, 2))
        columns = ", ".join(map(self._column, names))
        clause = f"COLUMNS ({columns})" if len(names) > 1 else f"COLUMN {columns}"
        position = (
            self._maybe(f" {self._one('FIRST', 'AFTER a', 'AFTER nosuch')}", 0.1) if len(names) == 1 else ""
        )
        return f"ALTER TABLE {self._relation(_TABLES)} ADD {clause}{position}"

    def _alter_column(self) -> str:
        column = self._one(*_COLUMNS, "nosuch", "s.x")
        change = self._one(
            *(f"{self._one('ALTER', 'CHANGE')} COLUMN {column} COMMENT {self._one(*_TEXTS)}",) * 3,
            f"DROP COLUMN {column}",
            f"RENAME COLUMN {column} TO z",
        )
        return f"ALTER TABLE {self._relation(_TABLES)} {change}"

    def _alter_view(self) -> str:
        return f"ALTER VIEW {self._relation((*_VIEWS, *_TEMPORARY))} AS {self._one(*_QUERIES, _TWICE)}"

    def _comment_on(self) -> str:
        text = self._one(*_TEXTS, "NULL")
        what = self._one("TABLE", "COLUMN", "SCHEMA")
        if what == "SCHEMA":
            return f"COMMENT ON SCHEMA {self._one(*_SCHEMAS)} IS {text}"
        column = f".{self._one(*_COLUMNS, 'nosuch')}" if what == "COLUMN" else ""
        return f"COMMENT ON {what} {self._relation(_TABLES)}{column} IS {text}"

    # ---- statements that show

    def _describe(self) -> str:
        name = self._relation((*_TABLES, *_VIEWS, *_TEMPORARY))
        return self._one(
            f"DESCRIBE {name}",
            f"DESCRIBE EXTENDED {name}",
            f"DESC EXTENDED {name} AS JSON",
            f"DESCRIBE {name} {self._one('a', 'B', 'x', 'nosuch')}",
            f"DESCRIBE QUERY {self._one(*_QUERIES)}",
            "DESCRIBE SCHEMA default",
        )

    def _show(self) -> str:
        name = self._relation((*_TABLES, *_VIEWS, *_TEMPORARY))
        return self._one(
            f"SHOW COLUMNS IN {name}",
            f"SHOW TBLPROPERTIES {name}",
            f"SHOW TBLPROPERTIES {name} ({self._one(*_KEYS)})",
            f"SHOW CREATE TABLE {name}",
            f"SHOW PARTITIONS {name}",
        )

    def _listing(self) -> str:
        pattern = self._one(*_PATTERNS)
        return self._one(
            "SHOW TABLES",
            f"SHOW TABLES{self._one('', ' IN default', ' IN nosuch')} LIKE {pattern}",
            f"SHOW VIEWS{self._maybe(f' LIKE {pattern}')}",
            "SHOW SCHEMAS LIKE 'd*'",
            f"SHOW FUNCTIONS LIKE {self._one(*_FUNCTIONS)}",
            "SHOW CURRENT SCHEMA",
            "SHOW CATALOGS",
        )

    def _select(self) -> str:
        return self._one(*_QUERIES, f"SELECT * FROM {self._relation((*_TABLES, *_VIEWS))}")

    def _context(self) -> str:
        return self._one(
            f"USE {self._one('default', 'spark_catalog', 'spark_catalog.default', 'nosuch', 'a.b.c')}",
            "SELECT current_schema(), current_catalog()",
            f"INSERT INTO {self._relation(('t', 'u'))} (a, b) VALUES (1, 'x')",
            f"INSERT INTO {self._relation(('t', 'u'))} VALUES (2, 'y')",
            f"CACHE TABLE {self._relation(('t', 'v', 'tv'))}",
            f"UNCACHE TABLE IF EXISTS {self._one('u', 'nosuch', 'a.b.t')}",
        )
