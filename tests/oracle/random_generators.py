"""Random tables with nested columns, and random queries over their exploded rows.

A table has arrays, arrays of arrays, maps and arrays of structs, with nulls and empty collections at every
level. A query chains LATERAL VIEWs, generators in the select list and LATERAL table functions, each over the
columns of those before, with filters, joins and groupings above. Both are drawn from a seed.
"""

from dataclasses import dataclass, field
from random import Random

#: Types of elements, with literals of each.
_ELEMENTS = {
    "INT": ("0", "1", "2", "-5", "2147483647"),
    "BIGINT": ("0L", "1L", "-9L", "9007199254740993L"),
    "STRING": ("''", "'a'", "'b'", "'é'", "'a longer text'"),
    "DOUBLE": ("0.0D", "-0.0D", "1.5D", "double('NaN')"),
    "DECIMAL(7,2)": ("0.00", "12.50", "-99999.99"),
    "DECIMAL(30,4)": ("0.0000", "12345678901234567890.1234"),
    "DATE": ("DATE'2024-02-29'", "DATE'1969-12-31'"),
    "TIMESTAMP": ("TIMESTAMP'2024-02-29 12:00:00'", "TIMESTAMP'1969-12-31 23:59:59.5'"),
    "BOOLEAN": ("true", "false"),
    "BINARY": ("X''", "X'00FF'"),
}
_GROUPED = ("INT", "BIGINT", "STRING", "DATE", "BOOLEAN", "DECIMAL(7,2)")


@dataclass
class _Scope:
    """The columns that the next part of a query may read: collections with their shapes, and scalars with
    their types."""

    arrays: list[tuple[str, str]] = field(default_factory=list)
    nested: list[tuple[str, str]] = field(default_factory=list)
    maps: list[tuple[str, str]] = field(default_factory=list)
    structs: list[tuple[str, str]] = field(default_factory=list)
    scalars: list[tuple[str, str]] = field(default_factory=list)


class Case:
    """A table ``r``, a small table ``u`` beside it, and queries, all drawn from ``seed``."""

    def __init__(self, seed: int, queries: int = 12) -> None:
        self._random = Random(seed)
        self._kinds = [self._random.choice(list(_ELEMENTS)) for _ in range(4)]
        self._views = 0
        self.setup = (self._table(), "CREATE TEMPORARY VIEW u AS SELECT id AS uid, id % 3 AS g FROM range(9)")
        self.queries = [self._query() for _ in range(queries)]

    # ---- the table

    def _table(self) -> str:
        rows = ", ".join(self._row(number) for number in range(self._random.randint(1, 9)))
        where = " WHERE id < 0" if self._random.random() < 0.1 else ""
        return f"CREATE TEMPORARY VIEW r AS SELECT * FROM VALUES {rows} AS r(id, a, aa, m, s){where}"

    def _row(self, number: int) -> str:
        flat, inner, value, member = self._kinds
        keys = self._random.sample(["'k'", "'l'", "'m'", "''"], self._random.randint(0, 3))
        values = ", ".join(self._element(value) for _ in keys)
        entries = (
            f"map_from_arrays(CAST(array({', '.join(keys)}) AS ARRAY<STRING>), "
            f"CAST(array({values}) AS ARRAY<{value}>))"
        )
        structs = self._items(
            lambda: (
                f"named_struct('p', CAST({self._element(member)} AS {member}), 'q', {self._element('INT')})"
            )
        )
        cells = (
            self._typed(self._items(lambda: self._element(flat)), f"ARRAY<{flat}>"),
            self._typed(
                self._items(
                    lambda: self._typed(self._items(lambda: self._element(inner)), f"ARRAY<{inner}>")
                ),
                f"ARRAY<ARRAY<{inner}>>",
            ),
            f"CAST(NULL AS MAP<STRING, {value}>)" if self._random.random() < 0.2 else entries,
            self._typed(structs, f"ARRAY<STRUCT<p: {member}, q: INT>>"),
        )
        return f"({number}, {', '.join(cells)})"

    def _items(self, item: "object") -> str:
        assert callable(item)
        count = self._random.choice((0, 1, 1, 2, 3))
        return f"array({', '.join('NULL' if self._random.random() < 0.15 else item() for _ in range(count))})"

    def _typed(self, text: str, kind: str) -> str:
        return f"CAST({'NULL' if self._random.random() < 0.2 else text} AS {kind})"

    def _element(self, kind: str) -> str:
        return "NULL" if self._random.random() < 0.15 else self._random.choice(_ELEMENTS[kind])

    # ---- queries

    def _query(self) -> str:
        flat, inner, value, member = self._kinds
        scope = _Scope(
            [("r.a", flat)], [("r.aa", inner)], [("r.m", value)], [("r.s", member)], [("r.id", "INT")]
        )
        source = "r"
        if self._random.random() < 0.3:
            source += f" {self._random.choice(('JOIN', 'LEFT JOIN'))} u ON r.id = u.uid"
            scope.scalars += [("u.uid", "BIGINT"), ("u.g", "BIGINT")]
        if self._random.random() < 0.3:
            text, names = self._generator(scope)
            source += f", LATERAL {text} AS {self._name()}({', '.join(names)})"
        for _ in range(self._random.randint(0, 3)):
            text, names = self._generator(scope)
            outer = "OUTER " if self._random.random() < 0.4 else ""
            source += f" LATERAL VIEW {outer}{text} {self._name()} AS {', '.join(names)}"
        where = self._where(scope)
        shape = self._random.random()
        if shape < 0.35:
            return self._grouped(source, where, scope)
        shown = self._random.sample(scope.scalars, self._random.randint(1, len(scope.scalars)))
        items = [name for name, _ in shown]
        if shape < 0.7:
            text, names = self._generator(scope)
            items.insert(self._random.randint(0, len(items)), f"{text} AS ({', '.join(names)})")
        listed = ", ".join(f"{item} AS c{n}" if " " not in item else item for n, item in enumerate(items))
        distinct = "DISTINCT " if shape < 0.05 or shape > 0.95 else ""
        return f"SELECT {distinct}{listed} FROM {source}{where}"

    def _name(self) -> str:
        self._views += 1
        return f"v{self._views}"

    def _generator(self, scope: _Scope) -> tuple[str, list[str]]:
        """Return a generator's call over the scope, and names for its columns, which join the scope."""
        outer = "_outer" if self._random.random() < 0.3 else ""
        kind = self._random.choice(("array", "array", "nested", "map", "struct", "stack"))
        first, second, third = (self._name() for _ in range(3))
        position = self._random.random() < 0.3
        names: list[str] = []
        if kind != "struct" and kind != "stack" and position:
            names.append(third)
            scope.scalars.append((third, "INT"))
        function = f"{'pos' if position else ''}explode{outer}"
        match kind:
            case "array":
                column, element = self._random.choice(scope.arrays)
                scope.scalars.append((first, element))
                return f"{function}({column})", [*names, first]
            case "nested":
                column, element = self._random.choice(scope.nested)
                scope.arrays.append((first, element))
                return f"{function}({column})", [*names, first]
            case "map":
                column, element = self._random.choice(scope.maps)
                scope.scalars += [(first, "STRING"), (second, element)]
                return f"{function}({column})", [*names, first, second]
            case "struct":
                column, element = self._random.choice(scope.structs)
                scope.scalars += [(first, element), (second, "INT")]
                return f"inline{outer}({column})", [first, second]
            case _:
                column, element = self._random.choice(scope.scalars)
                scope.scalars += [(first, "STRING"), (second, element)]
                rows = self._random.randint(1, 3)
                values = ", ".join(f"'{row}', {column}" for row in range(rows))
                return f"stack({rows}, {values})", [first, second]

    def _where(self, scope: _Scope) -> str:
        if self._random.random() < 0.5:
            return ""
        column, kind = self._random.choice(scope.scalars)
        test = self._random.choice(("IS NULL", "IS NOT NULL", "=", "<>", ">="))
        right = "" if test.startswith("IS") else f" CAST({self._random.choice(_ELEMENTS[kind])} AS {kind})"
        return f" WHERE {column} {test}{right}"

    def _grouped(self, source: str, where: str, scope: _Scope) -> str:
        keys = [name for name, kind in scope.scalars if kind in _GROUPED]
        key = self._random.choice(keys)
        value, _ = self._random.choice(scope.scalars)
        calls = f"count(*) AS n, count({value}) AS c, min({value}) AS least, max({value}) AS most"
        if self._random.random() < 0.3:
            return f"SELECT {calls} FROM {source}{where}"
        return f"SELECT {key} AS k, {calls} FROM {source}{where} GROUP BY {key}"
