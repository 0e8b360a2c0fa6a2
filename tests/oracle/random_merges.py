"""Random MERGE statements, compared with Spark's answer to a SELECT that gives the same rows.

Spark's own tables refuse MERGE, so that the oracle is the join that a MERGE is defined by: a full outer join
of the target with the source, on which CASE picks the clause of each row. A second query says whether a
target row has several matching source rows.

python -m tests.oracle.random_merges --count 500 --seed 3     compare with a live Spark
"""

import argparse
import tempfile
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

import sqlfront
from tests.oracle.answers import Answer, Failure, Outcome, difference
from tests.oracle.subject import Subject

#: The target's columns and their types. No clause sets ``rid``, unless it sets all columns.
TARGET: Final = {
    "rid": "INT",
    "k": "INT",
    "s": "STRING",
    "d": "DECIMAL(6,2)",
    "x": "STRUCT<a: INT, b: STRING>",
}
#: The forms of the target; the folder is the test's.
TABLES: Final = (
    "USING memory",
    "USING memory CLUSTERED BY (k)",
    "USING memory CLUSTERED BY (s, k) INTO 5 BUCKETS",
    "USING parquet LOCATION '{folder}'",
    "USING parquet PARTITIONED BY (k) LOCATION '{folder}'",
)
#: Errors of values that are too large for their column: the word of sqlfront, and those of Spark's CAST.
_OVERFLOW: Final = ("CAST_OVERFLOW_IN_TABLE_INSERT", ("CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE"))


#: The number of a joined row among those of its target row: without a clause for pairs, several matches are
#: no error, and the target row stays once.
_NTH: Final = "row_number() OVER (PARTITION BY t.there, t.rid ORDER BY 1)"


class Answerer(Protocol):
    """Spark or sqlfront."""

    def answer(self, sql: str) -> Outcome: ...


@dataclass(frozen=True)
class Clause:
    """A WHEN clause: the rows (``t`` and ``s``, ``s`` or ``t`` alone), the condition or an empty text, the
    action, and for each assigned column the value as MERGE writes it, and as the SELECT does."""

    rows: str
    condition: str
    action: str
    values: tuple[tuple[str, str, str], ...]
    takes_all: bool = False


@dataclass(frozen=True)
class Case:
    """A MERGE with its tables. ``target`` and ``source`` are queries for their rows."""

    table: str
    target: str
    source: str
    condition: str
    clauses: tuple[Clause, ...]

    @property
    def merge(self) -> str:
        """The statement."""
        return f"MERGE INTO m AS t USING n AS s ON {self.condition} {' '.join(map(_text, self.clauses))}"

    @property
    def checks(self) -> bool:
        """Whether several matches of a target row are an error."""
        matched = [clause for clause in self.clauses if clause.rows == "ts"]
        return bool(matched) and not (
            len(matched) == 1 and matched[0].action == "DELETE" and not matched[0].condition
        )

    @property
    def _joined(self) -> str:
        return (
            "FROM (SELECT *, true AS there FROM m) AS t FULL JOIN (SELECT *, true AS there FROM n) AS s "
            f"ON {self.condition}"
        )

    @property
    def repeated(self) -> str:
        """The query for target rows with several matches."""
        return (
            f"SELECT count(*) FROM (SELECT t.rid {self._joined} WHERE t.there AND s.there "
            "GROUP BY t.rid HAVING count(*) > 1)"
        )

    @property
    def rows_after(self) -> str:
        """The query for the target's rows after the statement."""
        numbered = list(enumerate(self.clauses))
        branches = []
        for rows, test in (("ts", "t.there AND s.there"), ("s", "s.there"), ("t", "t.there")):
            own = [
                f"WHEN {clause.condition or 'true'} THEN {number}"
                for number, clause in numbered
                if clause.rows == rows
            ]
            chosen = f"CASE {' '.join(own)} ELSE -1 END" if own else "-1"
            branches.append(f"WHEN {test} THEN {chosen}")
        code = f"CASE {' '.join(branches)} END"
        columns = ", ".join(self._column(name, kind) for name, kind in TARGET.items())
        gone = ", ".join(str(number) for number, clause in numbered if clause.action == "DELETE")
        kept = f" AND code NOT IN ({gone})" if gone else ""
        inner = f"SELECT struct(t.*) AS t, struct(s.*) AS s, {code} AS code, {_NTH} AS nth {self._joined}"
        wanted = f"(code >= 0 OR t.there) AND (nth = 1 OR t.there IS NULL){kept}"
        return f"SELECT {columns} FROM ({inner}) WHERE {wanted}"

    def _column(self, name: str, kind: str) -> str:
        branches = []
        for number, clause in enumerate(self.clauses):
            if clause.action == "DELETE":
                continue
            given = {column: value for column, _, value in clause.values}
            missing = "NULL" if clause.action == "INSERT" else f"t.{name}"
            branches.append(f"WHEN {number} THEN CAST({given.get(name, missing)} AS {kind})")
        value = f"CASE code {' '.join(branches)} ELSE t.{name} END" if branches else f"t.{name}"
        return f"{value} AS {name}"


def _text(clause: Clause) -> str:
    words = {"ts": "MATCHED", "s": "NOT MATCHED", "t": "NOT MATCHED BY SOURCE"}[clause.rows]
    condition = f" AND {clause.condition}" if clause.condition else ""
    if clause.action == "DELETE":
        action = "DELETE"
    elif clause.action == "INSERT":
        columns = ", ".join(column for column, _, _ in clause.values)
        action = f"INSERT ({columns}) VALUES ({', '.join(value for _, value, _ in clause.values)})"
    else:
        listed = ", ".join(f"{column} = {value}" for column, value, _ in clause.values)
        action = f"UPDATE SET {listed}"
    if clause.takes_all:
        action = "INSERT *" if clause.action == "INSERT" else "UPDATE SET *"
    if clause.values and clause.values[0][0] == "x.a":
        action = f"UPDATE SET x.a = {clause.values[0][1]}"
    return f"WHEN {words}{condition} THEN {action}"


class _Author:
    """The writer of one case."""

    def __init__(self, random: Random) -> None:
        self._random = random
        #: Whether the source has all of the target's columns.
        self._is_wide = random.random() < 0.4

    def case(self) -> Case:
        random = self._random
        rows = range(random.choice((0, 1, 3, 8, 8, 20)))
        target = [
            f"({place}, {self._row()}, named_struct('a', {self._key()}, 'b', {self._word()}))"
            for place in rows
        ]
        count = random.choice((0, 1, 3, 6, 6))
        keys = [str(key) for key in random.sample(range(8), min(count, 8))]
        if random.random() < 0.4:
            keys = [self._key() for _ in range(count)]
        source = []
        for place, key in enumerate(keys):
            d = random.choice((self._number(), "99999.9BD" if random.random() < 0.1 else "1.0BD"))
            x = f"named_struct('b', {self._word()}, 'a', {self._key()})"
            source.append(f"({key}, {d}, {self._word()}, {x}{f', {place + 100}' if self._is_wide else ''})")
        key_type = random.choice(("INT", "BIGINT", "SMALLINT"))
        names = "k, d, s, x, rid" if self._is_wide else "k, d, s, x"
        casts = f"CAST(k AS {key_type}) AS k, CAST(d AS DECIMAL(7,1)) AS d, CAST(s AS STRING) AS s, "
        casts += "CAST(x AS STRUCT<b: STRING, a: INT>) AS x" + (", rid" if self._is_wide else "")
        target_casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in TARGET.items())
        none = "named_struct('a', 0, 'b', '')"
        return Case(
            random.choice(TABLES),
            f"SELECT {target_casts} FROM VALUES {', '.join([*target, f'(-1, 0, NULL, NULL, {none})'])} "
            f"AS v(rid, k, s, d, x) WHERE rid >= 0",
            f"SELECT {casts} FROM VALUES "
            f"{', '.join([*source, '(-1, 0.0BD, NULL, NULL' + (', 0' if self._is_wide else '') + ')'])} "
            f"AS v({names}) WHERE k IS NULL OR k >= 0",
            self._on(),
            self._clauses(),
        )

    def _row(self) -> str:
        return f"{self._key()}, {self._word()}, {self._number()}"

    def _key(self) -> str:
        return self._random.choice(("NULL", *map(str, range(8))))

    def _word(self) -> str:
        return self._random.choice(("'a'", "'b'", "'c d'", "''", "NULL"))

    def _number(self) -> str:
        return f"{self._random.randint(-30, 300) / 10}BD"

    def _on(self) -> str:
        return self._random.choice(
            (
                *["t.k = s.k"] * 5,
                "t.k <=> s.k",
                "t.k = s.k AND t.s = s.s",
                "t.k = s.k AND t.d > 3",
                "s.k = t.k AND t.s = 'a'",
                "t.k = s.k + 1",
                "t.k = s.k AND s.d < t.d",
                "t.k < s.k",
                "t.k = 3",
                "t.k = 3 AND s.k = 3",
                "false",
                "t.s = s.s",
                "t.x.a = s.k",
                "coalesce(t.k, 0) = s.k",
                "NULL",
            )
        )

    def _test(self, rows: str) -> str:
        tests = []
        if "t" in rows:
            tests += [
                "t.d > 5",
                "t.s = 'a'",
                "t.k IS NULL",
                "t.x.b LIKE '%a%'",
                "10 / (t.k - 2) > 1",
                "t.k % 2 = 0",
            ]
        if "s" in rows:
            tests += [
                "s.d > 5",
                "s.s IN ('a', 'b')",
                "s.k % 2 = 1",
                "s.x IS NULL",
                "s.x.a > 3",
                "NOT s.s = 'a'",
            ]
        if rows == "ts":
            tests += ["t.d < s.d", "NOT t.s <=> s.s", "t.x.a = s.x.a"]
        return self._random.choice(tests)

    def _value(self, column: str, rows: str) -> tuple[str, str]:
        """A value for the column, as MERGE writes it and as the SELECT does."""
        random = self._random
        side = random.choice(rows)
        match column:
            case "rid":
                text = random.choice((f"{side}.k", "7", "1000 + 1"))
            case "k":
                texts = [f"{side}.k", f"{side}.k + 1", "5", "NULL", f"CAST({side}.d AS INT)"]
                text = random.choice(texts + ["s.k"] * 4 if "s" in rows else texts)
            case "s":
                text = random.choice(
                    (f"{side}.s", f"concat({side}.s, '!')", "'q'", f"{side}.k", f"{side}.x.b")
                )
            case "d":
                text = random.choice(
                    (f"{side}.d", f"{side}.d * 2", "1", "1.005BD", f"{side}.k", f"{side}.d / 0.5")
                )
            case _:
                text = random.choice((f"{side}.x", f"named_struct('b', {side}.s, 'a', {side}.k)", "NULL"))
                if text != "NULL":
                    field = f"({text})"
                    ordered = f"if({field} IS NULL, NULL, named_struct('a', {field}.a, 'b', {field}.b))"
                    return text, ordered
        return (text, text) if random.random() > 0.05 else ("DEFAULT", "NULL")

    def _clauses(self) -> tuple[Clause, ...]:
        random, clauses = self._random, list[Clause]()
        kinds = [rows for rows in ("ts", "s", "t") if random.random() < 0.6] or ["ts"]
        random.shuffle(kinds)
        for rows in kinds:
            for last in [*[False] * random.choice((0, 0, 1, 2)), True]:
                condition = self._test(rows) if not last or random.random() < 0.4 else ""
                clauses.append(self._clause(rows, condition))
        # Clauses about the same rows keep their order; others may come between in the grammar's order only.
        order = {"ts": 0, "s": 1, "t": 2}
        return tuple(sorted(clauses, key=lambda clause: order[clause.rows]))

    def _clause(self, rows: str, condition: str) -> Clause:
        random = self._random
        if rows != "t" and self._is_wide and random.random() < 0.4:
            values = [(name, "", f"s.{name}") for name in TARGET if name != "x"]
            values.append(("x", "", "if(s.x IS NULL, NULL, named_struct('a', s.x.a, 'b', s.x.b))"))
            return Clause(
                rows, condition, "INSERT" if rows == "s" else "UPDATE", tuple(values), takes_all=True
            )
        if rows == "s":
            names = random.sample(list(TARGET), random.randint(1, 5))
            return Clause(rows, condition, "INSERT", self._assigned(names, rows))
        if random.random() < 0.35:
            return Clause(rows, condition, "DELETE", ())
        if random.random() < 0.15:
            value = random.choice((f"{random.choice(rows)}.k", "9"))
            whole = f"named_struct('a', CAST({value} AS INT), 'b', t.x.b)"
            return Clause(rows, condition, "UPDATE", (("x.a", value, ""), ("x", "", whole)))
        names = random.sample(list(TARGET)[1:], random.randint(1, 3))
        return Clause(rows, condition, "UPDATE", self._assigned(names, rows))

    def _assigned(self, names: list[str], rows: str) -> tuple[tuple[str, str, str], ...]:
        return tuple((name, *self._value(name, rows)) for name in names)


def cases(count: int, seed: int) -> list[Case]:
    """Return ``count`` random cases; the same seed gives the same cases."""
    random = Random(seed)
    return [_Author(random).case() for _ in range(count)]


def differences(spark: Answerer, given: list[Case], config: sqlfront.Config | None = None) -> list[str]:
    """Return the statements, with what differs, after which a table hasn't the rows that Spark's SELECT
    gives."""
    problems = []
    with Subject(config) as subject, tempfile.TemporaryDirectory() as folder:
        for place, case in enumerate(given):
            differs = _difference(spark, subject, case, f"{folder}/{place}")
            if differs is not None:
                problems.append(f"{case.table}\n{case.target}\n{case.source}\n{case.merge}\n  {differs}")
    return problems


def _difference(spark: Answerer, subject: Answerer, case: Case, folder: str) -> str | None:
    made = case.table.format(folder=folder)
    for sql in (
        "DROP TABLE IF EXISTS m",
        f"CREATE TABLE m ({', '.join(f'{name} {kind}' for name, kind in TARGET.items())}) {made}",
        f"INSERT INTO m (rid, k, s, d, x) {case.target}",
        f"CREATE OR REPLACE TEMPORARY VIEW n AS {case.source}",
    ):
        assert not isinstance(found := subject.answer(sql), Failure), (sql, found)
    for name, query in (("m", case.target), ("n", case.source)):
        found = spark.answer(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
        assert not isinstance(found, Failure), (query, found)
    before = subject.answer(_ROWS)
    got = subject.answer(case.merge)
    expected = spark.answer(case.rows_after)
    repeated = spark.answer(case.repeated) if case.checks else None
    if isinstance(repeated, Answer) and repeated.rows[0][0] != "0":
        if not isinstance(got, Failure):
            return "no MERGE_CARDINALITY_VIOLATION"
        if got.condition != "MERGE_CARDINALITY_VIOLATION" and not isinstance(expected, Failure):
            return f"{got} instead of MERGE_CARDINALITY_VIOLATION"
        return difference(before, subject.answer(_ROWS))
    if isinstance(expected, Failure):
        if not isinstance(got, Failure):
            return f"no error, Spark has {expected}"
        return None if _same_error(expected, got) else f"{got} instead of {expected}"
    if isinstance(got, Failure):
        return f"{got}"
    return difference(expected, subject.answer(_ROWS))


_ROWS: Final = f"SELECT {', '.join(TARGET)} FROM m"


def _same_error(expected: Failure, got: Failure) -> bool:
    if got.condition == _OVERFLOW[0]:
        return (expected.condition or "").startswith(_OVERFLOW[1])
    return got.condition == expected.condition


def main() -> int:
    """Compare random statements with a live Spark, and print those with another outcome."""
    from tests.oracle.spark import SparkOracle

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--members", type=int, default=1)
    options = parser.parse_args()
    with SparkOracle() as spark:
        subject = spark.begin_file()
        config = sqlfront.Config(members=options.members)
        problems = differences(subject, cases(options.count, options.seed), config)
    print("\n\n".join(problems), f"{len(problems)} of {options.count} differ", sep="\n")
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main())
