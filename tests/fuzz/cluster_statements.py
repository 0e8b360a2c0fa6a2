"""Random statements over some tables of one author: DDL, writes and queries, with and without parameters.

Every answer is the same whatever holds the rows, so that two sessions can be compared: sums are exact, and a
LIMIT stands over whole rows in order, or only the number of rows is compared.
"""

import random
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tests.fuzz.key_changes import NESTED, SHOWN, STRANGE, VALUES, Column

#: Types of columns, the common ones more often.
_TYPES: Final = (*VALUES, "BIGINT", "BIGINT", "INT", "STRING", "DECIMAL(9, 2)")
#: Tables and views of an author at most.
_MOST: Final = 5
_COPIED: Final = "kept"


class Relation(msgspec.Struct):
    """A table of an author, or a view or a copy of one (``is_view``), and its columns; ``keys``: how many of
    them the table is clustered by."""

    name: str
    columns: list[Column]
    keys: int
    is_view: bool = False

    def some(self, chance: random.Random) -> Column:
        """One of the columns, a key half of the time."""
        if self.keys and chance.random() < 0.5:
            return chance.choice(self.columns[: self.keys])
        return chance.choice(self.columns)

    def shown(self) -> str:
        """All columns as text, by which rows of any types compare."""
        return ", ".join(shown(each) for each in self.columns)


class Statement(msgspec.Struct, frozen=True):
    """A statement's text, and the literals of its parameters with their types. ``counted``: only the number
    of its rows is the same everywhere. ``writes``: it may change a table or a name. ``after``: notes what the
    statement has changed, once it has succeeded."""

    text: str
    parameters: tuple[tuple[str, str], ...] = ()
    counted: bool = False
    writes: bool = False
    after: Callable[[], None] = lambda: None


def shown(column: Column) -> str:
    """The column as an expression whose values compare as text."""
    return SHOWN.get(column.type, "CAST({} AS STRING)").format(column.name)


class Author:
    """The random statements of one author, whose relations have names that begin with ``prefix``."""

    def __init__(self, prefix: str, chance: random.Random) -> None:
        self._prefix, self._chance = prefix, chance
        self._made = 0
        self.relations: list[Relation] = []

    def next(self) -> Statement:
        """The next statement."""
        tables = self._tables()
        if not tables or (len(self.relations) < _MOST and self._chance.random() < 0.04):
            return self._create()
        makers = (
            *(self._insert,) * 5,
            *(self._insert_query,) * 2,
            *(self._update,) * 7,
            *(self._delete,) * 3,
            *(self._query,) * 8,
            self._define,
            self._explain,
        )
        return self._chance.choice(makers)(self._chance.choice(tables))

    def drops(self) -> list[str]:
        """The statements that remove everything."""
        kinds = [("VIEW" if each.is_view else "TABLE", each.name) for each in reversed(self.relations)]
        return [f"DROP {kind} IF EXISTS {name}" for kind, name in kinds]

    def _tables(self) -> list[Relation]:
        return [each for each in self.relations if not each.is_view]

    # ---- definitions

    def _new_name(self) -> str:
        self._made += 1
        odd = self._chance.choice(["", "", "", " é", "_X", "-1", "." * 2])
        return f"`{self._prefix}{self._made}{odd}`"

    def _create(self) -> Statement:
        chance, name = self._chance, self._new_name()
        types = chance.choices(_TYPES, k=chance.choice([1, 1, 1, 2, 3]))
        keys = [Column(f"k{place}", each, VALUES[each]) for place, each in enumerate(types)]
        kinds = chance.choices([*VALUES.items(), *NESTED.items()], k=chance.choice([1, 2, 3]))
        others = [Column(f"c{place}", *each) for place, each in enumerate(kinds)]
        made = Relation(name, keys + others, len(keys))
        described = ", ".join(f"{each.name} {each.type}" for each in made.columns)
        text = f"CREATE TABLE {name} ({described}) USING memory"
        if chance.random() < 0.85:
            text += f" CLUSTERED BY ({', '.join(each.name for each in keys)})"
            text += chance.choice(["", "", f" INTO {chance.choice([1, 2, 7, 271, 999])} BUCKETS"])
        text += chance.choice(["", "", " OPTIONS (backups 1)", " OPTIONS (backups 2)"])
        return Statement(text, writes=True, after=lambda: self.relations.append(made))

    def _define(self, table: Relation) -> Statement:
        chance = self._chance
        makers = (self._rename, self._widen, self._index, self._drop, self._replace, self._view, self._copy)
        if chance.random() < 0.2:
            return Statement(f"TRUNCATE TABLE {table.name}", writes=True)
        return chance.choice(makers)(table)

    def _rename(self, table: Relation) -> Statement:
        name = self._new_name()

        def after() -> None:
            table.name = name

        return Statement(f"ALTER TABLE {table.name} RENAME TO {name}", writes=True, after=after)

    def _widen(self, table: Relation) -> Statement:
        kind = self._chance.choice(_TYPES)
        column = Column(f"w{len(table.columns)}", kind, VALUES[kind])
        text = f"ALTER TABLE {table.name} ADD COLUMN ({column.name} {column.type})"
        return Statement(text, writes=True, after=lambda: table.columns.append(column))

    def _index(self, table: Relation) -> Statement:
        columns = self._chance.sample(table.columns, min(len(table.columns), self._chance.choice([1, 1, 2])))
        name = f"i{self._chance.randrange(3)}"
        if self._chance.random() < 0.3:
            return Statement(f"DROP INDEX {name} ON {table.name}", writes=True)
        listed = ", ".join(each.name for each in columns)
        return Statement(f"CREATE INDEX {name} ON {table.name} ({listed})", writes=True)

    def _drop(self, table: Relation) -> Statement:
        return Statement(f"DROP TABLE {table.name}", writes=True, after=lambda: self.relations.remove(table))

    def _replace(self, table: Relation) -> Statement:
        """A table of a query over another one or over itself."""
        source = self._chance.choice(self._tables())
        count = self._chance.randrange(1, len(source.columns) + 1)
        columns = source.columns[:count]
        listed = ", ".join(each.name for each in columns)
        clustered = self._chance.choice(["", f" CLUSTERED BY ({columns[0].name})"])
        if columns[0].type in NESTED:
            clustered = ""

        def after() -> None:
            table.columns, table.keys = list(columns), min(1, len(clustered))

        text = (
            f"CREATE OR REPLACE TABLE {table.name} USING memory{clustered} AS"
            f" SELECT {listed} FROM {source.name} WHERE {self._condition(source)}"
        )
        return Statement(text, writes=True, after=after)

    def _view(self, table: Relation) -> Statement:
        views = [each for each in self.relations if each.is_view]
        if views and self._chance.random() < 0.5:
            view = self._chance.choice(views)
            return Statement(f"DROP VIEW {view.name}", writes=True, after=lambda: self.relations.remove(view))
        made = Relation(self._new_name(), list(table.columns), table.keys, is_view=True)
        listed = ", ".join(each.name for each in table.columns)
        text = f"CREATE VIEW {made.name} AS SELECT {listed} FROM {table.name}"
        return Statement(text, writes=True, after=lambda: self.relations.append(made))

    def _copy(self, table: Relation) -> Statement:
        name = self._chance.choice(self.relations).name
        word = self._chance.choice(["CACHE", "CACHE", "UNCACHE", "REFRESH"])
        return Statement(f"{word} TABLE {name}", writes=True)

    # ---- writes

    def _insert(self, table: Relation) -> Statement:
        chance = self._chance
        overwrite = "OVERWRITE" if chance.random() < 0.03 else "INTO"
        count = chance.choice([1, 1, 1, 2, 9, 120])
        parameters: list[tuple[str, str]] = []
        marked = chance.random() < 0.4 and count < 9
        rows = [
            ", ".join(
                self._given(chance.choice(each.values), each, parameters, marked) for each in table.columns
            )
            for _ in range(count)
        ]
        values = ", ".join(f"({each})" for each in rows)
        return Statement(f"INSERT {overwrite} {table.name} VALUES {values}", (*parameters,), writes=True)

    def _given(self, literal: str, column: Column, parameters: list[tuple[str, str]], marked: bool) -> str:
        """The literal, or a parameter of its value."""
        if not marked or column.type in NESTED or column.type.startswith("INTERVAL") or "add" in literal:
            return literal
        parameters.append((literal, column.type))
        return "?"

    def _insert_query(self, table: Relation) -> Statement:
        source = self._chance.choice(self.relations)
        chosen = [
            self._chance.choice(
                [other.name for other in source.columns if other.type == each.type] or ["NULL"]
            )
            for each in table.columns
        ]
        limit = self._chance.choice(["", " LIMIT 0"])
        overwrite = "OVERWRITE" if self._chance.random() < 0.1 else "INTO"
        text = (
            f"INSERT {overwrite} {table.name} SELECT {', '.join(chosen)} FROM {source.name}"
            f" WHERE {self._condition(source)}{limit}"
        )
        return Statement(text, writes=True)

    def _update(self, table: Relation) -> Statement:
        parameters: list[tuple[str, str]] = []
        marked = self._chance.random() < 0.4
        changed = self._chance.sample(table.columns, min(len(table.columns), self._chance.choice([1, 1, 2])))
        sets = ", ".join(
            f"{each.name} = {self._new_value(each, table, parameters, marked)}" for each in changed
        )
        condition = self._condition(table, parameters, marked)
        return Statement(f"UPDATE {table.name} SET {sets} WHERE {condition}", (*parameters,), writes=True)

    def _new_value(
        self, column: Column, table: Relation, parameters: list[tuple[str, str]], marked: bool
    ) -> str:
        draw = self._chance.random()
        if draw < 0.65:
            return self._given(self._chance.choice(column.values), column, parameters, marked)
        if draw < 0.75:
            return column.name
        if draw < 0.85:
            return f"(SELECT max({column.name}) FROM {table.name})" if column.type not in NESTED else "NULL"
        return self._chance.choice([*STRANGE, self._chance.choice(table.columns).name])

    def _delete(self, table: Relation) -> Statement:
        if self._chance.random() < 0.03:
            return Statement(f"DELETE FROM {table.name}", writes=True)
        parameters: list[tuple[str, str]] = []
        condition = self._condition(table, parameters, self._chance.random() < 0.4)
        return Statement(f"DELETE FROM {table.name} WHERE {condition}", (*parameters,), writes=True)

    # ---- conditions

    def _condition(
        self, table: Relation, parameters: list[tuple[str, str]] | None = None, marked: bool = False
    ) -> str:
        """Mostly a condition on the key. Several conditions have no values of strange types: whether Spark's
        casts of them fail depends on which condition is met first."""
        chance = self._chance
        noted = [] if parameters is None else parameters
        marked = marked and parameters is not None
        keys = table.columns[: table.keys] if chance.random() < 0.8 else [table.some(chance)]
        if len(keys) == 1 and chance.random() < 0.05:
            return f"{keys[0].name} {chance.choice(['=', '<=>', '>='])} {chance.choice(STRANGE)}"
        parts = [self._of_column(each, table, noted, marked) for each in keys]
        draw = chance.random()
        if draw < 0.1:
            parts.append(self._of_column(table.some(chance), table, noted, marked))
        elif draw < 0.16:
            parts.append(chance.choice(["false", "true", "NULL", "1 = 0", "NOT false"]))
        return chance.choice([" AND ", " AND ", " AND ", " OR "]).join(parts) or "true"

    def _of_column(
        self, column: Column, table: Relation, parameters: list[tuple[str, str]], marked: bool
    ) -> str:
        chance = self._chance
        name = column.name
        if column.type in NESTED:
            return f"{name} IS {chance.choice(['', 'NOT '])}NULL"

        def value() -> str:
            return self._given(chance.choice(column.values), column, parameters, marked)

        forms: tuple[Callable[[], str], ...] = (
            *(lambda: f"{name} = {value()}",) * 5,
            lambda: f"{value()} = {name}",
            lambda: f"{name} IN ({value()}, {value()}, {value()})",
            lambda: f"{name} IN ({', '.join([value()] * 2)})" if not marked else f"{name} <=> {value()}",
            lambda: f"{name} = {value()} AND {name} = {value()}",
            lambda: f"({name} = {value()} OR {name} = {value()})",
            lambda: f"{name} <=> {value()}",
            lambda: f"{name} IS NULL",
            lambda: f"NOT {name} = {value()}",
            lambda: f"{name} BETWEEN {value()} AND {value()}",
            lambda: f"{name} >= {value()}",
            lambda: f"{name} = {name}",
            lambda: f"{name} IN (SELECT {name} FROM {table.name} WHERE {name} = {value()})",
            lambda: f"{name} = (SELECT min({name}) FROM {table.name})",
            lambda: f"EXISTS (SELECT 1 FROM {table.name} AS other WHERE other.{name} = {table.name}.{name})",
            lambda: f"coalesce({name}, {value()}) = {value()}",
        )
        return chance.choice(forms)()

    # ---- queries

    def _query(self, table: Relation) -> Statement:
        chance = self._chance
        relation = chance.choice(self.relations)
        parameters: list[tuple[str, str]] = []
        marked = chance.random() < 0.5
        makers = (
            *(self._rows,) * 4,
            self._ordered,
            self._limited,
            self._grouped,
            self._joined,
            self._distinct,
            self._numbered,
        )
        maker = chance.choice(makers)
        text = maker(relation, parameters, marked)
        return Statement(text, (*parameters,), counted=maker == self._limited)

    def _rows(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        condition = self._condition(relation, parameters, marked)
        listed = self._chance.choice([relation.shown(), "*", "count(*)"])
        return f"SELECT {listed} FROM {relation.name} WHERE {condition}"

    def _ordered(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        places = ", ".join(str(place + 1) for place in range(len(relation.columns)))
        condition = self._condition(relation, parameters, marked)
        offset = self._chance.choice(["", f" OFFSET {self._limit(parameters, marked)}"])
        limit = self._limit(parameters, marked)
        if offset.endswith("?"):  # LIMIT stands before OFFSET, and so does its parameter
            parameters[-2:] = reversed(parameters[-2:])
        return (
            f"SELECT {relation.shown()} FROM {relation.name} WHERE {condition} ORDER BY {places}"
            f" LIMIT {limit}{offset}"
        )

    def _limit(self, parameters: list[tuple[str, str]], marked: bool) -> str:
        number = self._chance.choice(["0", "1", "3", "1000"])
        if not marked:
            return number
        parameters.append((number, "INT"))
        return "?"

    def _limited(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        condition = self._condition(relation, parameters, marked)
        return f"SELECT * FROM {relation.name} WHERE {condition} LIMIT {self._limit(parameters, marked)}"

    def _grouped(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        by, of = shown(relation.some(self._chance)), relation.some(self._chance)
        calls = f"count(*), count(DISTINCT {shown(of)}), min({shown(of)}), max({shown(of)})"
        if of.type in ("BIGINT", "INT", "TINYINT", "DECIMAL(9, 2)"):
            calls += f", sum(CAST({of.name} AS DECIMAL(30, 2)))"
        having = self._chance.choice(["", " HAVING count(*) > 1"])
        condition = self._condition(relation, parameters, marked)
        return f"SELECT {by}, {calls} FROM {relation.name} WHERE {condition} GROUP BY {by}{having}"

    def _joined(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        other = self._chance.choice(self.relations)
        pairs = [
            (one.name, two.name)
            for one in relation.columns
            for two in other.columns
            if one.type == two.type and one.type not in NESTED
        ]
        kind = self._chance.choice(
            ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
        )
        if not pairs:
            return f"SELECT count(*) FROM {relation.name} CROSS JOIN (SELECT 1 FROM {other.name} LIMIT 3)"
        equal = [
            f"one.{first} = two.{second}"
            for first, second in self._chance.sample(pairs, min(len(pairs), self._chance.choice([1, 1, 2])))
        ]
        condition = self._condition(relation, parameters, marked)
        source = f"(SELECT * FROM {relation.name} WHERE {condition}) AS one"
        first = shown(Column(f"one.{relation.columns[0].name}", relation.columns[0].type, ()))
        joined = f"{source} {kind} {other.name} AS two ON {' AND '.join(equal)}"
        return f"SELECT {first}, count(*) FROM {joined} GROUP BY 1"

    def _distinct(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        first, second = (self._rows_of(relation, parameters, marked) for _ in range(2))
        word = self._chance.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
        return f"{first} {word} {second}"

    def _rows_of(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        condition = self._condition(relation, parameters, marked)
        return f"SELECT DISTINCT {relation.shown()} FROM {relation.name} WHERE {condition}"

    def _numbered(self, relation: Relation, parameters: list[tuple[str, str]], marked: bool) -> str:
        by = shown(relation.some(self._chance))
        condition = self._condition(relation, parameters, marked)
        return (
            f"SELECT {by}, count(*) OVER (PARTITION BY {by}), rank() OVER (ORDER BY {by})"
            f" FROM {relation.name} WHERE {condition}"
        )

    def _explain(self, table: Relation) -> Statement:
        form = self._chance.choice(["", "EXTENDED ", "ANALYZE ", "(FORMAT dag) ", "(ANALYZE, FORMAT dag) "])
        query = self._query(table)
        return Statement(f"EXPLAIN {form}{query.text}", query.parameters, counted=True)


def listed(statement: Statement, values: Sequence[object]) -> str:
    """The statement as a finding tells it."""
    return statement.text + (f"  -- with {list(values)!r}" if values else "")
