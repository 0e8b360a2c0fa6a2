"""A statement of any size for every construct of SQL that can hold itself, or any number of something."""

from collections.abc import Callable
from typing import Final, NamedTuple

#: What the statements read: ``t`` has three rows, ``nothing`` has none.
TABLES: Final = (
    "CREATE TABLE t USING memory AS SELECT * FROM VALUES (1, 'x'), (2, 'y'), (3, 'z') AS v(a, b)",
    "CREATE TABLE nothing USING memory AS SELECT * FROM t WHERE a > 3",
)


class Statement(NamedTuple):
    """A text to run, and its only value if that is known (None: any)."""

    text: str
    value: object = None
    parameters: tuple[object, ...] | None = None


class Shape(NamedTuple):
    """A kind of statement: ``make`` gives the one of a size. Sizes up to ``answered`` must be answered, in
    ``within`` seconds; larger ones may be refused."""

    make: Callable[[int], Statement]
    answered: int = 0
    within: float = 5.0


_Text = Callable[[int], str]
_Value = Callable[[int], object]


def _same(value: object) -> _Value:
    return lambda size: value


_ANY: Final = _same(None)


def _chain(operator: str, operand: str) -> _Text:
    return lambda size: operator.join([operand] * size)


def _listed(before: str, item: Callable[[int], str], after: str, separator: str = ", ") -> _Text:
    return lambda size: before + separator.join(map(item, range(size))) + after


def _nested(before: str, inner: str, after: str = "") -> _Text:
    return lambda size: before * size + inner + after * size


def _constant(text: _Text, value: _Value = _ANY) -> Callable[[int], Statement]:
    """The expression alone, whose literals are all there is."""
    return lambda size: Statement(f"SELECT {text(size)} AS v", value(size))


def _column(text: _Text, value: _Value = _ANY) -> Callable[[int], Statement]:
    """The expression's greatest value over the table's rows."""
    return lambda size: Statement(f"SELECT max(v) FROM (SELECT {text(size)} AS v FROM t)", value(size))


def _condition(text: _Text, value: _Value = _ANY) -> Callable[[int], Statement]:
    """The number of the table's rows for which the condition holds."""
    return lambda size: Statement(f"SELECT count(*) FROM t WHERE {text(size)}", value(size))


def _query(text: _Text, value: _Value = _ANY) -> Callable[[int], Statement]:
    return lambda size: Statement(text(size), value(size))


def _counted(text: _Text, value: _Value = _ANY) -> Callable[[int], Statement]:
    """The number of a query's rows."""
    return lambda size: Statement(f"SELECT count(*) FROM ({text(size)})", value(size))


def _mixed_sum(size: int) -> str:
    """A sum whose type grows on the way."""
    return " + ".join(("a", "1", "2L", "3.5BD", "- a")[index % 5] for index in range(size))


def _common_tables(item: Callable[[int], str], last: str) -> _Text:
    """Common table expressions c0, c1, ..., each made by ``item``."""
    return lambda size: (
        "WITH c0 AS (SELECT a FROM t), "
        + ", ".join(f"c{index} AS ({item(index)})" for index in range(1, size + 1))
        + f" {last.format(size)}"
    )


def _joins(kind: str, condition: str) -> _Text:
    return lambda size: (
        "SELECT count(*) FROM t t0"
        + "".join(f" {kind} t t{index} {condition.format(index, index - 1)}" for index in range(1, size + 1))
    )


def _aliases(item: Callable[[int], str]) -> Callable[[int], str]:
    """Columns each of which reads the one before."""
    return lambda size: (
        "SELECT a AS c0"
        + "".join(f", {item(place)} AS c{place + 1}" for place in range(size))
        + " FROM t ORDER BY a LIMIT 1"
    )


def _laterals(size: int) -> str:
    return "SELECT count(*) FROM t" + "".join(
        f", LATERAL (SELECT {'t.a' if not index else f'l{index - 1}.x'} AS x) l{index}"
        for index in range(size)
    )


def _grouping(word: str) -> _Text:
    def text(size: int) -> str:
        names = ", ".join(f"c{index}" for index in range(size))
        columns = ", ".join(f"a + {index} AS c{index}" for index in range(size))
        source = f"SELECT {names}, count(*) FROM (SELECT {columns} FROM t) GROUP BY {word}({names})"
        return f"SELECT count(*) FROM ({source})"

    return text


def _grouping_sets(size: int) -> str:
    sets = ", ".join(("(a)", "(b)", "(a, b)", "()")[index % 4] for index in range(size))
    return f"SELECT count(*) FROM (SELECT a, b, count(*) FROM t GROUP BY GROUPING SETS ({sets}))"


def _views_of_types(size: int) -> str:
    return f"SELECT CAST(NULL AS {'struct<f: ' * size}int{'>' * size}) AS v"


def _placeholders(size: int) -> Statement:
    return Statement(f"SELECT {' + '.join('?' * size)} AS v", size, (1,) * size)


def _wanted(size: int) -> Statement:
    return Statement(f"SELECT count(*) FROM t WHERE a IN ({', '.join('?' * size)})", 1, (2,) * size)


SHAPES: Final[dict[str, Shape]] = {
    # chains of operators
    "and": Shape(_condition(_chain(" AND ", "a > 0"), _same(3)), 10_000),
    "or": Shape(_condition(lambda n: " OR ".join(f"a = {1 - i}" for i in range(n)), _same(1)), 10_000),
    "and-or": Shape(_condition(_chain(" AND a > 1 OR ", "a < 2"), _same(1)), 5_000),
    "and-constant": Shape(_constant(_chain(" AND ", "true"), _same(True)), 10_000),
    "add": Shape(_column(_chain(" + ", "a"), lambda n: 3 * n), 10_000),
    "add-constant": Shape(_constant(_chain(" + ", "1"), lambda n: n), 10_000),
    "add-double": Shape(_constant(_chain(" + ", "1D"), float), 10_000),
    "subtract": Shape(_column(_chain(" - ", "a"), lambda n: 2 - n), 10_000),
    "add-mixed": Shape(_column(_mixed_sum), 500),
    "multiply": Shape(_constant(_chain(" * ", "1"), _same(1)), 10_000),
    "divide": Shape(_constant(_chain(" / ", "1"), _same(1.0)), 10_000),
    "modulo": Shape(_column(_chain(" % ", "a"), _same(0))),
    "concat-operator": Shape(_column(_chain(" || ", "b"), lambda n: "z" * n), 10_000),
    "concat-constant": Shape(_constant(_chain(" || ", "'a'"), lambda n: "a" * n), 10_000),
    "bits": Shape(_column(_chain(" | ", "a"), _same(3)), 10_000),
    "shifts": Shape(_constant(_chain(" << ", "0"), _same(0))),
    "named-add": Shape(lambda n: Statement("SELECT " + " + ".join(["1"] * n), n), 10_000),
    "comparisons": Shape(_constant(_chain(" = ", "true"), _same(True))),
    "casts-written-after": Shape(_constant(lambda n: "1" + "::int" * n, _same(1)), 200),
    "brackets": Shape(_constant(lambda n: "array(1)" + "[0]" * n)),
    "fields": Shape(_constant(lambda n: "named_struct('f', 1)" + ".f" * n)),
    "not": Shape(_constant(_nested("NOT ", "true"), lambda n: n % 2 == 0), 200),
    "minus": Shape(_constant(_nested("- ", "a"))),
    "minus-column": Shape(_column(_nested("- ", "a"), lambda n: 3 if n % 2 == 0 else -1), 200),
    "like": Shape(_condition(_chain(" OR ", "b LIKE 'x%'"), _same(1)), 1_000),
    "between": Shape(_condition(_chain(" AND ", "a BETWEEN 1 AND 2"), _same(2)), 5_000),
    # nesting
    "parentheses": Shape(_constant(_nested("(", "1", ")"), _same(1)), 1_000, 2.0),
    "parentheses-column": Shape(_column(_nested("(", "a", ")"), _same(3)), 1_000, 2.0),
    "parenthesized-sums": Shape(_column(_nested("(1 + ", "a", ")"), lambda n: n + 3), 200, 2.0),
    "parenthesized-ands": Shape(_condition(_nested("(a > 0 AND ", "true", ")"), _same(3)), 200, 2.0),
    "functions": Shape(_column(_nested("upper(", "b", ")"), _same("Z")), 200),
    "functions-of-two": Shape(_column(_nested("greatest(a, ", "a", ")"), _same(3)), 200),
    "coalesce": Shape(_column(_nested("coalesce(", "a", ")"), _same(3)), 200),
    "casts": Shape(_column(_nested("CAST(", "a", " AS BIGINT)"), _same(3)), 200),
    "case": Shape(_column(_nested("CASE WHEN a > 0 THEN ", "a", " END"), _same(3)), 200, 2.0),
    "case-else": Shape(_column(_nested("CASE WHEN a < 0 THEN 1 ELSE ", "a", " END"), _same(3)), 200, 2.0),
    "case-constant": Shape(_constant(_nested("CASE WHEN true THEN ", "1", " END"), _same(1)), 200, 2.0),
    "case-in-condition": Shape(_column(_nested("CASE WHEN ", "true", " THEN true END"), _same(True)), 200),
    "if": Shape(_column(_nested("if(a > 0, ", "a", ", 0)"), _same(3)), 200),
    "branches": Shape(_column(lambda n: "CASE " + "WHEN a < 0 THEN 1 " * n + "ELSE a END", _same(3)), 1_000),
    "arrays": Shape(_constant(_nested("array(", "1", ")")), 50),
    "structs": Shape(_constant(_nested("named_struct('f', ", "1", ")")), 50),
    "maps": Shape(_constant(_nested("map('k', ", "1", ")")), 50),
    "lambdas": Shape(_constant(_nested("transform(array(1), x -> ", "1", ")"))),
    "types-array": Shape(_constant(lambda n: f"CAST(NULL AS {'array<' * n}int{'>' * n})"), 50),
    "types-struct": Shape(_query(_views_of_types), 50),
    # subqueries
    "subqueries": Shape(_query(_nested("SELECT * FROM (", "SELECT 1 AS v", ")"), _same(1)), 200, 2.0),
    "subqueries-column": Shape(
        _counted(_nested("SELECT a FROM (", "SELECT a FROM t", ") WHERE a > 0"), _same(3)), 200, 2.0
    ),
    "scalar-subqueries": Shape(_query(_nested("SELECT (", "SELECT 1 AS v", ") AS v"), _same(1)), 200, 2.0),
    "parenthesized-query": Shape(_constant(_nested("(", "SELECT 1", ")"), _same(1)), 200, 2.0),
    "parenthesized-queries": Shape(_query(_nested("(", "SELECT 1 AS v", ")"), _same(1)), 200, 2.0),
    "exists": Shape(_query(_nested("SELECT count(*) FROM t WHERE EXISTS (", "SELECT 1", ")"), _same(3)), 50),
    "in-subqueries": Shape(
        _query(_nested("SELECT max(a) FROM t WHERE a IN (", "SELECT 3", ")"), _same(3)), 50
    ),
    "correlated": Shape(
        lambda n: Statement(
            "".join(f"SELECT count(*) FROM t t{i} WHERE EXISTS (" for i in range(n))
            + "SELECT 1"
            + "".join(f" FROM t u{i} WHERE u{i}.a = t{i}.a)" for i in [n - 1])
            + ")" * (n - 1)
        )
    ),
    "common-tables": Shape(
        _query(
            _common_tables(lambda i: f"SELECT a + 1 AS a FROM c{i - 1}", "SELECT max(a) FROM c{}"),
            lambda n: 3 + n,
        ),
        200,
    ),
    "common-tables-doubling": Shape(
        _query(
            _common_tables(
                lambda i: f"SELECT x.a FROM c{i - 1} x JOIN c{i - 1} y ON x.a = y.a", "SELECT max(a) FROM c{}"
            ),
            _same(3),
        ),
        9,
    ),
    "common-tables-many": Shape(
        _query(_common_tables(lambda i: "SELECT a FROM t", "SELECT max(a) FROM c{}"), _same(3)), 1_000
    ),
    "laterals": Shape(_query(_laterals)),
    # set operations, joins, relations
    "union-all": Shape(_counted(_chain(" UNION ALL ", "SELECT 1"), lambda n: n), 5_000),
    "union-all-tables": Shape(_counted(_chain(" UNION ALL ", "SELECT a FROM t"), lambda n: 3 * n), 1_000),
    "union": Shape(_counted(_chain(" UNION ", "SELECT 1"), _same(1)), 200),
    "intersect": Shape(_counted(_chain(" INTERSECT ", "SELECT 1"), _same(1)), 200),
    "except": Shape(_counted(_chain(" EXCEPT ", "SELECT 1"), _same(0)), 200),
    "joins-equal": Shape(_query(_joins("JOIN", "ON t{}.a = t{}.a"), _same(3)), 500, 2.0),
    "joins-left": Shape(_query(_joins("LEFT JOIN", "ON t{}.a = t{}.a"), _same(3)), 500, 2.0),
    "joins-using": Shape(_query(_joins("JOIN", "USING (a)"), _same(3)), 200),
    "joins-cross": Shape(lambda n: Statement("SELECT count(*) FROM nothing" + ", t" * n), 0),
    "values": Shape(
        _counted(_listed("SELECT * FROM VALUES ", lambda i: f"({i}, 'v{i}')", ""), lambda n: n), 10_000
    ),
    "in-integers": Shape(_condition(_listed("a IN (", str, ")"), _same(3)), 100_000, 2.0),
    "in-strings": Shape(_condition(_listed("b IN ('x', ", lambda i: f"'{i}'", ")"), _same(1)), 10_000),
    "in-constant": Shape(_constant(_listed("1 IN (", str, ")"), _same(True)), 10_000),
    "not-in": Shape(_condition(_listed("a NOT IN (", lambda i: str(i + 2), ")"), _same(1)), 10_000),
    "in-negatives": Shape(_condition(_listed("a IN (1, ", lambda i: str(-i), ")"), _same(1)), 100_000),
    "in-decimals": Shape(_condition(_listed("a IN (1, ", lambda i: f"{i}.5", ")"), _same(1)), 10_000),
    "in-numbers-as-strings": Shape(
        _condition(_listed("a IN (", lambda i: f"'{i}'", ")"), _same(3)), 100_000, 2.0
    ),
    "in-nulls": Shape(_condition(_listed("a NOT IN (NULL, ", str, ")"), _same(0)), 100_000),
    "lateral-aliases": Shape(_query(_aliases(lambda i: f"c{i} + 1"), _same(1)), 500, 2.0),
    "lateral-aliases-twice": Shape(_query(_aliases(lambda i: f"c{i} + c{i} - a"), _same(1)), 50, 2.0),
    "lateral-aliases-filtered": Shape(
        _query(
            lambda n: f"SELECT * FROM ({_aliases(lambda i: f'c{i} + c{i} - a')(n)}) WHERE c{n} > 0", _same(1)
        ),
        50,
        2.0,
    ),
    "set-operations": Shape(
        _counted(
            lambda n: (
                "SELECT 1"
                + "".join(f" {('UNION', 'EXCEPT ALL', 'INTERSECT')[i % 3]} SELECT {i % 2}" for i in range(n))
            )
        ),
        50,
    ),
    "windows-nested": Shape(
        _counted(_nested("SELECT sum(a) OVER (ORDER BY a) AS a FROM (", "SELECT a FROM t", ")"), _same(3)),
        50,
    ),
    "aggregates-nested": Shape(
        _query(_nested("SELECT max(a) AS a FROM (", "SELECT a FROM t", ")"), _same(3)), 50
    ),
    "columns": Shape(_query(_listed("SELECT ", lambda i: f"a + {i} AS c{i}", " FROM t LIMIT 1")), 500),
    "arguments": Shape(_constant(_listed("greatest(0, ", str, ")"), lambda n: n - 1), 1_000),
    "elements": Shape(_constant(_listed("size(array(", str, "))"), lambda n: n), 1_000),
    "windows": Shape(
        _query(
            _listed(
                "SELECT ",
                lambda i: f"sum(a) OVER (PARTITION BY b ORDER BY a + {i}) AS c{i}",
                " FROM t LIMIT 1",
            )
        ),
        100,
    ),
    "windows-alike": Shape(
        _query(_listed("SELECT ", lambda i: f"sum(a + {i}) OVER (ORDER BY a) AS c{i}", " FROM t LIMIT 1")),
        400,
    ),
    "aggregates": Shape(_query(_listed("SELECT ", lambda i: f"sum(a + {i}) AS c{i}", " FROM t")), 200),
    "group-by": Shape(
        _query(_listed("SELECT count(*) FROM t GROUP BY ", lambda i: f"a + {i}", " LIMIT 1")), 200
    ),
    "order-by": Shape(
        _query(_listed("SELECT a FROM t ORDER BY ", lambda i: f"a + {i}", " LIMIT 1"), _same(1)), 200
    ),
    "cube": Shape(_query(_grouping("CUBE"), lambda n: 3 * 2**n - 2 if n <= 12 else None), 12),
    "rollup": Shape(_query(_grouping("ROLLUP"), lambda n: 3 * n + 1), 100),
    "grouping-sets": Shape(_query(_grouping_sets), 100),
    # long words
    "name-of-function": Shape(lambda n: Statement(f"SELECT {'f' * n}(1)")),
    "name-of-column": Shape(lambda n: Statement(f"SELECT {'c' * n} FROM t")),
    "name-of-table": Shape(lambda n: Statement(f"SELECT * FROM {'t' * n}")),
    "name-of-alias": Shape(lambda n: Statement(f"SELECT 1 AS {'a' * n}", 1), 1_000),
    "string": Shape(lambda n: Statement(f"SELECT length('{'s' * n}')", n), 100_000),
    "number": Shape(lambda n: Statement(f"SELECT {'9' * n}")),
    "fraction": Shape(lambda n: Statement(f"SELECT 0.{'9' * n}")),
    "exponent": Shape(lambda n: Statement(f"SELECT 1e{'9' * min(n, 1_000)}")),
    "comment": Shape(lambda n: Statement(f"SELECT /* {'c' * n} */ 1 AS v", 1), 100_000),
    "comments": Shape(lambda n: Statement(f"SELECT {'/*' * n}{'*/' * n} 1 AS v", 1)),
    # in other statements, and with parameters
    "explain": Shape(lambda n: Statement(f"EXPLAIN SELECT {_chain(' + ', 'a')(n)} FROM t"), 1_000),
    "explain-extended": Shape(
        lambda n: Statement(f"EXPLAIN EXTENDED {_nested('SELECT * FROM (', 'SELECT a FROM t', ')')(n)}"), 100
    ),
    "explain-case": Shape(
        lambda n: Statement(
            f"EXPLAIN EXTENDED SELECT {_nested('CASE WHEN a > 0 THEN ', 'a', ' END')(n)} FROM t"
        ),
        100,
    ),
    "create-view": Shape(
        lambda n: Statement(f"CREATE TEMPORARY VIEW v AS SELECT {_chain(' + ', 'a')(n)} AS v FROM t"), 1_000
    ),
    "insert": Shape(_query(_listed("INSERT INTO t VALUES ", lambda i: f"({i}, 'v{i}')", "")), 1_000),
    "update": Shape(lambda n: Statement(f"UPDATE t SET a = {_chain(' + ', 'a')(n)}"), 1_000),
    "delete": Shape(lambda n: Statement(f"DELETE FROM t WHERE {_chain(' OR ', 'a = 0')(n)}"), 1_000),
    "parameters": Shape(_placeholders, 10_000),
    "parameters-in": Shape(_wanted, 10_000),
}
