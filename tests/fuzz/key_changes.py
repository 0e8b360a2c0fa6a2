"""Random UPDATE, DELETE and INSERT by keys of all types: a table that several members hold with backups and
the same table in one process must have equal counts, errors and rows.

    python -m tests.fuzz.key_changes                           # forty tables, sixty statements each
    python -m tests.fuzz.key_changes --count 400 --seed 7      # other ones
    python -m tests.fuzz.key_changes --seed 7 --only 12        # one of them

A finding is a statement with which the two sessions differ.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

import sqlfront
from sqlfront.connection import Connection

STATEMENTS: Final = 60
ROWS: Final = 25

#: For each type of a column: literals of values, of which some count as one key.
VALUES: Final = {
    "BIGINT": ("0", "1", "-1", "7", "9223372036854775807", "-9223372036854775808", "NULL"),
    "INT": ("0", "1", "-1", "2147483647", "NULL"),
    "TINYINT": ("0Y", "1Y", "127Y", "-128Y", "NULL"),
    "DOUBLE": ("0D", "-0D", "1D", "1.5D", "double('NaN')", "double('Infinity')", "1e300D", "NULL"),
    "FLOAT": ("float(0)", "float('-0')", "float(1.5)", "float('NaN')", "NULL"),
    "DECIMAL(9, 2)": ("0.00", "1.00", "-1.25", "9999999.99", "NULL"),
    "DECIMAL(38, 10)": ("0", "1.0000000001", "-9999999999999999999999999999.9999999999", "NULL"),
    "STRING": ("''", "'a'", "'A'", "'a '", "'é'", "'e\\u0301'", "'\\0'", "repeat('x', 300)", "NULL"),
    "BOOLEAN": ("true", "false", "NULL"),
    "DATE": (
        "DATE'1970-01-01'",
        "DATE'0001-01-01'",
        "DATE'9999-12-31'",
        "date_add(DATE'9999-12-31', 1)",
        "NULL",
    ),
    "TIMESTAMP": ("TIMESTAMP'1970-01-01 00:00:00'", "TIMESTAMP'2026-03-29 02:30:00'", "NULL"),
    "TIMESTAMP_NTZ": (
        "TIMESTAMP_NTZ'1970-01-01 00:00:00.000001'",
        "TIMESTAMP_NTZ'2026-03-29 02:30:00'",
        "NULL",
    ),
    "BINARY": ("X''", "X'00'", "X'ff00'", "NULL"),
    "INTERVAL DAY TO SECOND": ("INTERVAL '1' DAY", "INTERVAL '24:00:00' HOUR TO SECOND", "NULL"),
    "INTERVAL YEAR TO MONTH": ("INTERVAL '1' YEAR", "INTERVAL '12' MONTH", "NULL"),
}
#: Types of columns that are no keys, too.
NESTED: Final = {
    "ARRAY<INT>": ("array()", "array(1, NULL)", "NULL"),
    "STRUCT<a: INT, b: STRING>": ("named_struct('a', 1, 'b', 'x')", "NULL"),
    "MAP<STRING, INT>": ("map('a', 1)", "map()", "NULL"),
}
#: How a column is shown whose text as a STRING is not the same for the same values.
SHOWN: Final = {"BINARY": "hex({})", **dict.fromkeys(NESTED, "to_json({})")}
#: Values of other types than the column's, some of which Spark casts.
STRANGE: Final = (
    "'x'",
    "1",
    "1.5",
    "true",
    "DATE'2020-01-01'",
    "'1'",
    "1e0D",
    "array(1)",
    "1 / 0",
    "CAST('x' AS INT)",
)


class Column(msgspec.Struct, frozen=True):
    """A column of the table: its name, its type, and literals of values."""

    name: str
    type: str
    values: tuple[str, ...]


class KeyChanges:
    """A random table and random statements. ``number``: the seed's table."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed} {number}")
        types = self.random.choices([*VALUES], k=self.random.choice([1, 1, 1, 2]))
        self.keys = [Column(f"k{place}", each, VALUES[each]) for place, each in enumerate(types)]
        others = self.random.choices([*VALUES.items(), *NESTED.items()], k=3)
        self.others = [Column(f"c{place}", *each) for place, each in enumerate(others)]
        self.columns = self.keys + self.others
        self.random.shuffle(self.columns)
        not_null = self.random.choice([None, None, self.others[0].name])
        described = (
            f"{each.name} {each.type}{' NOT NULL' * (each.name == not_null)}" for each in self.columns
        )
        self._create = f"CREATE TABLE t ({', '.join(described)}) USING memory"
        self._clustered = f" CLUSTERED BY ({', '.join(each.name for each in self.keys)})"
        self._into = self.random.choice(["", f" INTO {self.random.choice([1, 4, 271])} BUCKETS"])
        self._backups = self.random.randrange(3)

    def run(self) -> list[str]:
        """Run the statements in both sessions; return what differs, with the statement."""
        with sqlfront.connect() as one, sqlfront.connect(members=3, workers=1) as several:
            first = self._create + self._clustered + self._into
            if (made := outcome(one, first)) != outcome(
                several, f"{first} OPTIONS (backups {self._backups})"
            ):
                return [f"{first}: {made}"]
            self.outcomes = Counter[str]()
            statements = [self._insert(ROWS)] + [self._statement() for _ in range(STATEMENTS)]
            return self._compare(one, several, statements)

    def _compare(self, one: Connection, several: Connection, statements: Sequence[str]) -> list[str]:
        for number, text in enumerate(statements):
            right, found = outcome(one, text), outcome(several, text)
            self.outcomes[str(right[0])] += 1
            if right != found:
                return [f"{text}\n  one process: {right}\n  members: {found}"]
            if number % 5 == 0 and (self._rows(one) != self._rows(several)):
                return [f"after {text}\n  one process: {self._rows(one)}\n  members: {self._rows(several)}"]
        return [] if self._rows(one) == self._rows(several) else ["the rows differ in the end"]

    def _rows(self, connection: Connection) -> list[str]:
        """Return all rows of the table as text, in one order."""
        shown = (SHOWN.get(each.type, "CAST({} AS STRING)").format(each.name) for each in self.columns)
        return sorted(map(repr, connection.execute(f"SELECT {', '.join(shown)} FROM t").fetchall()))

    def _statement(self) -> str:
        match self.random.randrange(10):
            case 0 | 1:
                return self._insert(self.random.choice([1, 1, 2]))
            case 2 | 3 | 4:
                return f"DELETE FROM t WHERE {self._condition()}"
            case 5:
                return f"SELECT count(*) FROM t WHERE {self._condition()}"
            case _:
                changed = self.random.sample(self.columns, self.random.choice([1, 1, 2]))
                if self.random.random() < 0.8:
                    changed = [each for each in changed if each in self.others] or self.others[:1]
                sets = ", ".join(f"{each.name} = {self._value(each)}" for each in changed)
                return f"UPDATE t SET {sets} WHERE {self._condition()}"

    def _insert(self, count: int) -> str:
        lines = (
            f"({', '.join(self.random.choice(each.values) for each in self.columns)})" for _ in range(count)
        )
        return f"INSERT INTO t VALUES {', '.join(lines)}"

    def _value(self, column: Column) -> str:
        chance = self.random.random()
        if chance < 0.7:
            return self.random.choice(column.values)
        return self.random.choice(STRANGE) if chance < 0.9 else self.random.choice(self.columns).name

    def _condition(self) -> str:
        parts = [self._of_key(each) for each in self.keys]
        if self.random.random() < 0.15:
            column = self.random.choice(self.others)
            parts.append(self.random.choice([f"{column.name} IS NULL", f"{column.name} IS NOT NULL"]))
        if self.random.random() < 0.1:
            parts.pop()
        return " AND ".join(parts) or "true"

    def _of_key(self, column: Column) -> str:
        choose = [self._key_value(column) for _ in range(3)]
        forms = (
            f"{column.name} = {choose[0]}",
            f"{column.name} = {choose[0]}",
            f"{choose[0]} = {column.name}",
            f"{column.name} IN ({', '.join(choose)})",
            f"({column.name} = {choose[0]} OR {column.name} = {choose[1]})",
            f"{column.name} <=> {choose[0]}",
            f"{column.name} IS NULL",
            f"{column.name} = {choose[0]} AND {column.name} = {choose[1]}",
        )
        return self.random.choice(forms)

    def _key_value(self, column: Column) -> str:
        return self.random.choice(column.values if self.random.random() < 0.93 else STRANGE)


def outcome(connection: Connection, text: str) -> tuple[object, ...]:
    """Return what a statement has done: its count and rows, or its error's class and SQLSTATE."""
    try:
        cursor = connection.execute(text)
        return "done", cursor.rowcount, repr(cursor.fetchall()) if cursor.description else ""
    except sqlfront.Error as error:
        return "error", type(error).__name__, error.sqlstate, error.condition


def campaign(count: int, seed: int, only: int | None = None) -> tuple[list[str], Counter[str]]:
    """Run ``count`` tables of the ``seed``; return the findings, and the number of statements by outcome."""
    findings, outcomes = list[str](), Counter[str]()
    for number in range(count) if only is None else (only,):
        changes = KeyChanges(seed, number)
        findings += [f"--seed {seed} --only {number}: {each}" for each in changes.run()]
        outcomes += changes.outcomes
    return findings, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    findings, outcomes = campaign(options.count, options.seed, options.only)
    print(*findings, sep="\n\n")
    print(f"{len(findings)} findings; {dict(outcomes)}")
    return len(findings) > 0


if __name__ == "__main__":
    sys.exit(main())
