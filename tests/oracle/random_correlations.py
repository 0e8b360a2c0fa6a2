"""Random queries with LATERAL and correlated subqueries over three small tables.

A subquery reads its enclosing row in conditions of any kind, in its select list, in derived tables, branches
of set operations and conditions of joins, below aggregates, DISTINCT, windows and LIMIT. It stands in FROM,
as a value, or as EXISTS and IN, alone, below OR and in expressions. Wherever rows are chosen by an order, the
order is total. All is drawn from a seed.
"""

from random import Random

_ROWS = {
    "t": "(1, 10, 'x'), (2, 2, 'y'), (2, NULL, 'x'), (NULL, 3, NULL), (4, 0, 'z'), (3, 3, 'y')",
    "u": "(1, 3, 'x'), (1, 7, NULL), (2, NULL, 'y'), (3, 1, 'x'), (NULL, 0, 'z'), (2, 2, 'x'), (5, 10, 'y')",
    "w": "(2, 5, 'y'), (3, 3, 'x'), (3, 1, NULL), (NULL, 2, 'x')",
}
#: Tables of the same columns, with duplicates and nulls, and an empty one.
SETUP = (
    *(
        f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM VALUES {rows} AS {name}(k, v, s)"
        for name, rows in _ROWS.items()
    ),
    "CREATE TEMPORARY VIEW e AS SELECT * FROM t WHERE k > 9",
)
_TABLES = (*("t", "u", "w") * 4, "e")
_COMPARISONS = ("=", "=", "=", "<", "<=", ">", "<>", "<=>")
_SETS = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")


class Correlations:
    """Queries drawn from ``seed``."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._names = 0

    def query(self) -> str:
        """Return the text of a query."""
        make = self._random.choice((self._lateral, self._lateral, self._value, self._condition))
        return make()

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _one(self, *options: str) -> str:
        return self._random.choice(options)

    def _name(self) -> str:
        self._names += 1
        return f"q{self._names}"

    # ---- queries

    def _lateral(self) -> str:
        """Return a query with one or two LATERAL subqueries."""
        names = [self._name()]
        text = f"FROM {self._one(*_TABLES)} AS {names[0]}"
        for _ in range(self._random.choice((1, 1, 1, 2))):
            name, outer = self._name(), self._random.choice(names)
            inner = self._rows(outer, 2, lateral=True)
            join = self._one(",", ",", " JOIN", " LEFT JOIN", " LEFT JOIN", " CROSS JOIN")
            text += f"{join} LATERAL ({inner}) AS {name}(k, v)"
            if join in (" JOIN", " LEFT JOIN") and self._chance(0.6):
                first = [f"{names[0]}.k", f"{names[0]}.v", "2"]
                text += f" ON {self._compared([f'{name}.k', f'{name}.v'], first)}"
            names.append(name)
        if self._chance(0.2):
            text += f" WHERE {self._compared([f'{names[0]}.k'], [f'{names[-1]}.v', '2'])}"
        if self._chance(0.2):
            return f"SELECT {names[0]}.k, count(*) AS n, sum({names[-1]}.v) AS m {text} GROUP BY {names[0]}.k"
        return f"SELECT * {text}"

    def _value(self) -> str:
        """Return a query with a subquery as a value of the select list or of a comparison."""
        outer = self._name()
        value = self._scalar(outer)
        source = f"FROM {self._one(*_TABLES)} AS {outer}"
        match self._random.randrange(4):
            case 0:
                return f"SELECT {outer}.*, {value} AS x {source}"
            case 1:
                return f"SELECT {outer}.*, coalesce({value}, -1) + {self._scalar(outer)} AS x {source}"
            case 2:
                return f"SELECT * {source} WHERE {outer}.v {self._one(*_COMPARISONS)} {value}"
            case _:
                return (
                    f"SELECT * {source} WHERE {outer}.k = 2 OR {outer}.v {self._one(*_COMPARISONS)} {value}"
                )

    def _condition(self) -> str:
        """Return a query with EXISTS or IN."""
        outer = self._name()
        test = self._test(outer)
        source = f"FROM {self._one(*_TABLES)} AS {outer}"
        match self._random.randrange(6):
            case 0 | 1:
                return f"SELECT * {source} WHERE {test}"
            case 2:
                return f"SELECT * {source} WHERE {test} AND {self._test(outer)}"
            case 3:
                return f"SELECT * {source} WHERE {test} OR {outer}.k = 3"
            case 4:
                return f"SELECT {outer}.*, {test} AS x {source}"
            case _:
                return f"SELECT {outer}.*, CASE WHEN {test} THEN 1 ELSE 0 END AS x {source}"

    # ---- subqueries

    def _scalar(self, outer: str) -> str:
        """Return a subquery of one row at most."""
        rows = self._rows(outer, 1, lateral=False)
        name = self._name()
        match self._random.randrange(4):
            case 0:
                return f"(SELECT {self._aggregate(f'{name}.k')} FROM ({rows}) AS {name}(k))"
            case 1:
                return f"(SELECT k FROM ({rows}) AS {name}(k) ORDER BY k LIMIT 1)"
            case _:
                table = self._one(*_TABLES)
                having = f" HAVING count(*) {self._one(*_COMPARISONS)} {outer}.v" if self._chance(0.2) else ""
                where = self._where(name, outer)
                return f"(SELECT {self._aggregate(f'{name}.v')} FROM {table} AS {name}{where}{having})"

    def _test(self, outer: str) -> str:
        word = "NOT " if self._chance(0.4) else ""
        match self._random.randrange(5):
            case 0 | 1:
                return f"{word}EXISTS ({self._rows(outer, 1, lateral=False)})"
            case 2:
                return f"({outer}.k, {outer}.v) {word}IN ({self._rows(outer, 2, lateral=False)})"
            case _:
                return f"{outer}.{self._one('k', 'v')} {word}IN ({self._rows(outer, 1, lateral=False)})"

    def _rows(self, outer: str, width: int, *, lateral: bool, depth: int = 2) -> str:
        """Return a query of ``width`` whole numbers that reads the row ``outer``."""
        name = self._name()
        shape = self._random.randrange(13) if depth else 0
        source = f"{self._one(*_TABLES)} AS {name}"
        columns = [f"{name}.k", f"{name}.v"]
        where = self._where(name, outer)
        match shape:
            case 1:  # groups
                key = f"{name}.k"
                values = [key, self._aggregate(f"{name}.v")][-width:]
                having = f" HAVING count(*) {self._one('>', '<', '=')} {self._one('1', f'{outer}.v')}"
                having = having if self._chance(0.3) else ""
                return f"SELECT {', '.join(values)} FROM {source}{where} GROUP BY {key}{having}"
            case 2:  # one group
                values = [self._aggregate(f"{name}.v"), "count(*)"][:width]
                return f"SELECT {', '.join(values)} FROM {source}{where}"
            case 3:
                return (
                    f"SELECT DISTINCT {self._list(columns, outer, width, mixed=False)} FROM {source}{where}"
                )
            case 4 | 5:  # the first rows of a total order
                inner = self._rows(outer, width, lateral=lateral, depth=depth - 1)
                letters = ["c", "d"][:width]
                order = ", ".join(f"{letter}{self._one('', ' DESC', ' NULLS LAST')}" for letter in letters)
                offset = " OFFSET 1" if self._chance(0.3) else ""
                limit = f" LIMIT {self._one('1', '1', '2', '3')}"
                return (
                    f"SELECT * FROM ({inner}) AS {name}({', '.join(letters)}) ORDER BY {order}{limit}{offset}"
                )
            case 6:  # a set operation
                first = self._rows(outer, width, lateral=lateral, depth=depth - 1)
                second = self._rows(outer, width, lateral=lateral, depth=depth - 1)
                return f"({first}) {self._one(*_SETS)} ({second})"
            case 7:  # a derived table, or a common table expression
                inner = self._rows(outer, 2, lateral=lateral, depth=depth - 1)
                items = self._list(columns, outer, width, mixed=lateral)
                if self._chance(0.3):
                    return f"WITH {name}(k, v) AS ({inner}) SELECT {items} FROM {name}{where}"
                return f"SELECT {items} FROM ({inner}) AS {name}(k, v){where}"
            case 8 | 9:  # a join
                other = self._name()
                kind = self._one("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "SEMI JOIN", "ANTI JOIN")
                on = f"{name}.k = {other}.k"
                if self._chance(0.4):
                    on += f" AND {self._compared([f'{other}.v', f'{name}.v'], [f'{outer}.v', f'{outer}.k'])}"
                if kind in ("JOIN", "LEFT JOIN", "RIGHT JOIN"):
                    columns = [f"{name}.k", f"{other}.v"]
                items = self._list(columns, outer, width, mixed=lateral)
                where = where if kind != "RIGHT JOIN" else ""
                return f"SELECT {items} FROM {source} {kind} {self._one(*_TABLES)} AS {other} ON {on}{where}"
            case 10:  # a window
                number = f"row_number() OVER (PARTITION BY {name}.k ORDER BY {name}.v, {name}.s)"
                return f"SELECT {', '.join([number, f'{name}.v'][:width])} FROM {source}{where}"
            case 11:  # a subquery inside
                test = self._test(name) if self._chance(0.5) else f"{name}.v > {self._scalar(name)}"
                where = f"{where} AND {test}" if where else f" WHERE {test}"
                return f"SELECT {self._list(columns, outer, width, mixed=lateral)} FROM {source}{where}"
            case 12:  # LATERAL inside, or no FROM
                if self._chance(0.5):
                    return f"SELECT {', '.join([f'{outer}.k', f'{outer}.v + 1'][:width])}"
                other = self._name()
                inner = self._rows(name, 2, lateral=True, depth=depth - 1)
                items = self._list([*columns, f"{other}.v"], outer, width, mixed=lateral)
                return f"SELECT {items} FROM {source}, LATERAL ({inner}) AS {other}(k, v){where}"
            case _:
                return f"SELECT {self._list(columns, outer, width, mixed=lateral)} FROM {source}{where}"

    def _list(self, columns: list[str], outer: str, width: int, *, mixed: bool) -> str:
        """Return ``width`` items of a select list, with ``mixed`` some that read the enclosing row."""
        items = self._random.sample(columns, width)
        if mixed and self._chance(0.3):
            items[-1] = f"{items[-1]} + {outer}.v"
        elif mixed and self._chance(0.15):
            items[-1] = f"{outer}.v"
        return ", ".join(items)

    def _where(self, name: str, outer: str) -> str:
        """Return a WHERE that compares the row ``name`` with the row ``outer``, or nothing."""
        parts = [
            self._compared([f"{name}.k", f"{name}.v"], [f"{outer}.k", f"{outer}.v"])
            for _ in range(self._random.choice((0, 1, 1, 1, 2)))
        ]
        if self._chance(0.2):
            parts.append(f"{name}.v < 5")
        if self._chance(0.1):
            parts.append(f"{outer}.v > 2")
        return f" WHERE {self._one(' AND ', ' AND ', ' AND ', ' OR ').join(parts)}" if parts else ""

    def _compared(self, left: list[str], right: list[str]) -> str:
        first, second = self._random.choice(left), self._random.choice(right)
        if self._chance(0.1):
            return f"coalesce({first}, {second}) {self._one(*_COMPARISONS)} {self._one('1', '2', '3')}"
        return f"{first} {self._one(*_COMPARISONS)} {second}"

    def _aggregate(self, column: str) -> str:
        return self._one(f"max({column})", f"min({column})", "count(*)", f"count({column})", f"sum({column})")
