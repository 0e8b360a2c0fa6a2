"""Random expressions with lambdas over nested data, as SQL text that Spark and sqlfront are both asked.

An expression is drawn by its type: each type has productions, of which some take lambdas; a lambda's
parameters are variables in its body, which may hide columns and each other. The seed decides everything.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

INT, BIGINT, DOUBLE, DECIMAL = "int", "bigint", "double", "decimal(10,2)"
STRING, BOOLEAN, DATE = "string", "boolean", "date"


@dataclass(frozen=True)
class Array:
    """The type of arrays."""

    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map:
    """The type of maps."""

    key: Type
    item: Type

    def __str__(self) -> str:
        return f"map<{self.key},{self.item}>"


@dataclass(frozen=True)
class Struct:
    """The type of structs with the fields `p` and `q`."""

    p: Type
    q: Type

    def __str__(self) -> str:
        return f"struct<p:{self.p},q:{self.q}>"


Type = str | Array | Map | Struct
#: Variables in scope: names with their types; a later one hides an earlier one of the same name.
Scope = tuple[tuple[str, Type], ...]

COLUMNS: Scope = (
    ("id", INT),
    ("i", INT),
    ("s", STRING),
    ("d", DOUBLE),
    ("n", DECIMAL),
    ("ai", Array(INT)),
    ("al", Array(BIGINT)),
    ("as", Array(STRING)),
    ("ad", Array(DOUBLE)),
    ("an", Array(DECIMAL)),
    ("at", Array(DATE)),
    ("aa", Array(Array(INT))),
    ("ar", Array(Struct(INT, STRING))),
    ("mi", Map(INT, STRING)),
    ("ms", Map(STRING, INT)),
    ("mn", Map(DECIMAL, DOUBLE)),
    ("am", Array(Map(STRING, INT))),
)
_SCALARS = (INT, BIGINT, DOUBLE, DECIMAL, STRING, BOOLEAN, DATE)
_VALUES = {
    INT: ("0", "1", "-1", "2", "3", "7", "100"),
    BIGINT: ("0L", "1L", "-5L", "10000000000L"),
    DOUBLE: ("0.0D", "-0.0D", "1.5D", "-2.5D", "double('NaN')", "1e300D", "double('infinity')"),
    DECIMAL: ("0.00BD", "1.50BD", "-2.25BD", "99999.99BD"),
    STRING: ("''", "'a'", "'Ab'", "'x,y'", "'é'", "'12'"),
    BOOLEAN: ("true", "false"),
    DATE: ("DATE'2020-02-29'", "DATE'1969-12-31'", "DATE'0001-01-01'"),
}
_NAMES = ("x", "y", "z", "e", "i", "s", "ai", "acc")


class Expressions:
    """A source of random expressions. ``most`` is the depth from which on they are leaves."""

    def __init__(self, seed: object, most: int = 4) -> None:
        self._random = random.Random(repr(seed))
        self._most = most

    def view(self, name: str, rows: int) -> str:
        """The statement that makes a view of rows with :data:`COLUMNS`, some values null or empty."""
        lines = []
        for row in range(rows):
            values = [str(row), *(self._constant(kind, 0) for _, kind in COLUMNS[1:])]
            lines.append(f"({', '.join(values)})")
        names = ", ".join(f"`{column}`" for column, _ in COLUMNS)
        inline = f"VALUES {', '.join(lines)} AS {name}({names})"
        return f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {inline}"

    def query(self, view: str) -> str:
        """A query with some expressions, and perhaps a condition."""
        items = [self.expression(self._type(), COLUMNS, 0) for _ in range(self._random.randint(1, 2))]
        shown = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
        if self._random.random() < 0.2:
            return f"SELECT id, {shown} FROM {view} WHERE {self.expression(BOOLEAN, COLUMNS, 1)}"
        return f"SELECT id, {shown} FROM {view}"

    # ---- types and constants

    def _type(self) -> Type:
        pick = self._random.random()
        if pick < 0.35:
            return self._random.choice(_SCALARS)
        if pick < 0.75:
            return Array(self._random.choice((*_SCALARS, Array(INT), Struct(INT, STRING))))
        if pick < 0.9:
            return Map(self._random.choice((INT, STRING, DECIMAL)), self._random.choice(_SCALARS))
        return Struct(self._random.choice(_SCALARS), self._random.choice(_SCALARS))

    def _constant(self, kind: Type, depth: int) -> str:
        pick = self._random.random()
        if pick < 0.15:
            return f"CAST(NULL AS {kind})"
        match kind:
            case Array(element):
                items = [
                    self._constant(element, depth + 1) for _ in range(self._random.choice((0, 1, 2, 3, 5)))
                ]
                return f"CAST(array({', '.join(items)}) AS {kind})"
            case Map(key, item):
                keys = self._random.sample(_VALUES[str(key)], self._random.randint(0, 3))
                pairs = [f"{one}, {self._constant(item, depth + 1)}" for one in keys]
                return f"CAST(map({', '.join(pairs)}) AS {kind})" if pairs else f"CAST(NULL AS {kind})"
            case Struct(p, q):
                fields = f"'p', {self._constant(p, depth + 1)}, 'q', {self._constant(q, depth + 1)}"
                return f"CAST(named_struct({fields}) AS {kind})"
            case _:
                return f"CAST({self._random.choice(_VALUES[kind])} AS {kind})"

    # ---- expressions

    def expression(self, kind: Type, scope: Scope, depth: int) -> str:
        """An expression of a type over the variables of a scope."""
        if depth >= self._most or self._random.random() < 0.1:
            return self._leaf(kind, scope, depth)
        match kind:
            case Array():
                return self._array(kind, scope, depth + 1)
            case Map():
                return self._map(kind, scope, depth + 1)
            case Struct(p, q):
                first, second = (self.expression(part, scope, depth + 1) for part in (p, q))
                made = f"named_struct('p', {first}, 'q', {second})"
                return self._random.choice((made, self._leaf(kind, scope, depth)))
            case _:
                return self._scalar(kind, scope, depth + 1)

    def _leaf(self, kind: Type, scope: Scope, depth: int) -> str:
        visible = dict(scope)
        names = [name for name, other in visible.items() if other == kind]
        if names and self._random.random() < 0.85:
            # Later variables, those of lambdas, come more often.
            return f"`{names[-1] if self._random.random() < 0.6 else self._random.choice(names)}`"
        return self._constant(kind, depth)

    def _lambda(self, result: Type, scope: Scope, depth: int, *kinds: Type) -> str:
        names = self._random.sample(_NAMES, len(kinds))
        body = self.expression(result, (*scope, *zip(names, kinds, strict=True)), depth)
        if self._random.random() < 0.2:
            names = [name.upper() for name in names]
        head = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"{head} -> {body}"

    def _some(self) -> Type:
        return self._random.choice((*_SCALARS, Struct(INT, STRING), Array(INT)))

    def _scalar(self, kind: str, scope: Scope, depth: int) -> str:
        def of(other: Type) -> str:
            return self.expression(other, scope, depth)

        def fn(result: Type, *kinds: Type) -> str:
            return self._lambda(result, scope, depth, *kinds)

        element = self._some()
        common = [
            lambda: f"CASE WHEN {of(BOOLEAN)} THEN {of(kind)} ELSE {of(kind)} END",
            lambda: f"coalesce({of(kind)}, {of(kind)})",
            lambda: f"get({of(Array(kind))}, {of(INT)})",
            lambda: f"{of(Struct(kind, INT))}.p",
            lambda: f"try_element_at({of(Map(STRING, kind))}, {of(STRING)})",
            lambda: f"aggregate({of(Array(element))}, {of(kind)}, {fn(kind, kind, element)})",
            lambda: f"reduce({of(Array(element))}, {of(INT)}, {fn(INT, INT, element)}, {fn(kind, INT)})",
        ]
        own = {
            INT: [
                lambda: f"({of(INT)} {self._random.choice('+-*')} {of(INT)})",
                lambda: f"size({of(Array(element))})",
                lambda: f"length({of(STRING)})",
                lambda: f"({of(INT)} % 7)",
            ],
            BIGINT: [lambda: f"({of(BIGINT)} + {of(INT)})", lambda: f"CAST({of(INT)} AS bigint)"],
            DOUBLE: [
                lambda: f"({of(DOUBLE)} {self._random.choice('+-*')} {of(DOUBLE)})",
                lambda: f"try_divide({of(INT)}, {of(INT)})",
            ],
            DECIMAL: [
                lambda: f"CAST({of(DECIMAL)} {self._random.choice('+-*')} {of(DECIMAL)} AS decimal(10,2))"
            ],
            STRING: [
                lambda: f"({of(STRING)} || {of(STRING)})",
                lambda: f"upper({of(STRING)})",
                lambda: f"CAST({of(self._random.choice((INT, DECIMAL, BOOLEAN, DATE)))} AS string)",
                lambda: f"array_join({of(Array(STRING))}, ',')",
            ],
            BOOLEAN: [
                lambda: f"({of(INT)} {self._random.choice(('<', '=', '>=', '<=>', '<>'))} {of(INT)})",
                lambda: f"({of(DOUBLE)} < {of(DOUBLE)})",
                lambda: f"({of(STRING)} = {of(STRING)})",
                lambda: f"({of(BOOLEAN)} {self._random.choice(('AND', 'OR'))} {of(BOOLEAN)})",
                lambda: f"(NOT {of(BOOLEAN)})",
                lambda: f"({of(element)} IS NULL)",
                lambda: f"exists({of(Array(element))}, {fn(BOOLEAN, element)})",
                lambda: f"forall({of(Array(element))}, {fn(BOOLEAN, element)})",
                lambda: f"array_contains({of(Array(INT))}, coalesce({of(INT)}, 0))",
            ],
            DATE: [lambda: f"date_add({of(DATE)}, {of(INT)} % 100)"],
        }
        chosen = own[kind] if self._random.random() < 0.6 else common
        return self._random.choice(chosen)()

    def _array(self, kind: Array, scope: Scope, depth: int) -> str:
        def of(other: Type) -> str:
            return self.expression(other, scope, depth)

        def fn(result: Type, *kinds: Type) -> str:
            return self._lambda(result, scope, depth, *kinds)

        element, source, other = kind.element, self._some(), self._some()
        key = self._random.choice((INT, STRING))
        made = [
            lambda: f"transform({of(Array(source))}, {fn(element, source)})",
            lambda: f"transform({of(Array(source))}, {fn(element, source, INT)})",
            lambda: f"filter({of(kind)}, {fn(BOOLEAN, element)})",
            lambda: f"filter({of(kind)}, {fn(BOOLEAN, element, INT)})",
            lambda: f"zip_with({of(Array(source))}, {of(Array(other))}, {fn(element, source, other)})",
            lambda: self._sorted(kind, scope, depth),
            lambda: f"concat({of(kind)}, {of(kind)})",
            lambda: f"slice({of(kind)}, 1, 2)",
            lambda: f"map_values({of(Map(key, element))})",
            lambda: f"array({of(element)}, {of(element)})",
            lambda: f"transform({of(Array(Array(INT)))}, {fn(element, Array(INT))})",
        ]
        return self._random.choice(made)()

    def _sorted(self, kind: Array, scope: Scope, depth: int) -> str:
        """A sort by an integer of the element, which need not tell all elements apart."""
        element = kind.element
        number = self.expression(INT, (*scope, ("e", element)), max(depth, self._most - 1))
        left, right = (f"coalesce(aggregate(array({side}), 0, (a, e) -> {number}), 0)" for side in ("x", "y"))
        order = f"CASE WHEN {left} < {right} THEN -1 WHEN {left} > {right} THEN 1 ELSE 0 END"
        return f"array_sort({self.expression(kind, scope, depth)}, (x, y) -> {order})"

    def _map(self, kind: Map, scope: Scope, depth: int) -> str:
        def of(other: Type) -> str:
            return self.expression(other, scope, depth)

        def fn(result: Type, *kinds: Type) -> str:
            return self._lambda(result, scope, depth, *kinds)

        key, item, source = kind.key, kind.item, self._some()
        made = [
            lambda: f"map_filter({of(kind)}, {fn(BOOLEAN, key, item)})",
            lambda: f"transform_values({of(Map(key, source))}, {fn(item, key, source)})",
            lambda: f"transform_keys({of(Map(STRING, item))}, {fn(key, STRING, item)})",
            lambda: (
                f"map_zip_with({of(Map(key, source))}, {of(Map(key, INT))}, {fn(item, key, source, INT)})"
            ),
        ]
        return self._random.choice(made)()
