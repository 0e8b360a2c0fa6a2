"""Random queries of many clauses over two views, ``v`` and ``w``, of many types."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from tests.oracle.campaign.expressions import COLUMNS, ORDERED, Expressions
from tests.oracle.campaign.signatures import Kind, Signature

_RANKED: Final = (
    *("row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "lag(i)"),
    *("lead(s, 2)", "lag(d, 1, 0D)", "nth_value(i, 2)", "first_value(s)", "last_value(l)"),
)
_JOINS: Final = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


class Queries:
    """A source of random queries."""

    def __init__(self, random: Random, signatures: Sequence[Signature]) -> None:
        self._random = random
        self._from = Expressions(random, signatures)
        self._keys = [name for name, kind in COLUMNS.items() if kind in ORDERED]

    def query(self) -> str:
        """A query of one of the shapes."""
        shapes = (
            *(self._plain, self._plain, self._plain, self._grouped, self._grouped, self._windowed),
            *(self._exploded, self._filtered, self._joined, self._united, self._nested, self._sorted),
        )
        return self._random.choice(shapes)()

    def _items(self, prefix: str = "", most: int = 2) -> str:
        items = [self._from.expression(prefix) for _ in range(self._random.randint(1, most))]
        return ", ".join(f"{item} AS c{place}" if self._random.random() < 0.5 else item
                         for place, item in enumerate(items))  # fmt: skip

    def _where(self, prefix: str = "") -> str:
        return f" WHERE {self._from.condition(prefix)}" if self._random.random() < 0.3 else ""

    def _plain(self) -> str:
        distinct = "DISTINCT " if self._random.random() < 0.1 else ""
        return f"SELECT {distinct}{self._items()} FROM v{self._where()}"

    def _aggregate(self) -> str:
        call = self._from.call(Kind.AGGREGATE)
        return f"{call} FILTER (WHERE {self._from.condition()})" if self._random.random() < 0.15 else call

    def _grouped(self) -> str:
        calls = ", ".join(self._aggregate() for _ in range(self._random.randint(1, 2)))
        keys = self._random.sample(self._keys, 2)
        having = " HAVING count(*) > 1" if self._random.random() < 0.2 else ""
        match self._random.randrange(6):
            case 0:
                return f"SELECT {calls} FROM v{self._where()}"
            case 1:
                return f"SELECT {keys[0]}, {calls} FROM v{self._where()} GROUP BY ALL{having}"
            case 2:
                way = self._random.choice(("ROLLUP", "CUBE"))
                return f"SELECT {', '.join(keys)}, {calls} FROM v GROUP BY {way}({', '.join(keys)}){having}"
            case 3:
                sets = f"({keys[0]}), ({', '.join(keys)}), ()"
                return f"SELECT {keys[0]}, {calls} FROM v GROUP BY GROUPING SETS ({sets}){having}"
            case 4:
                key = self._from.of(self._random.choice(ORDERED))
                return f"SELECT {key} AS k, {calls} FROM v{self._where()} GROUP BY k{having}"
            case _:
                return f"SELECT {keys[0]}, {calls} FROM v{self._where()} GROUP BY {keys[0]}{having}"

    def _windowed(self) -> str:
        partition = self._random.choice(("", f"PARTITION BY {self._random.choice(self._keys)} "))
        order = "ORDER BY id" + self._random.choice(("", " DESC"))
        if self._random.random() < 0.4:
            return (
                f"SELECT id, {self._random.choice(_RANKED)} OVER ({partition}{order}) FROM v{self._where()}"
            )
        frame = self._random.choice(
            ("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING")
        )
        return f"SELECT id, {self._from.call(Kind.AGGREGATE)} OVER ({partition}{order}{frame}) FROM v"

    def _exploded(self) -> str:
        kind = self._random.choice(("array<int>", "array<string>", "array<array<int>>"))
        outer = self._random.choice(("", "OUTER "))
        if self._random.random() < 0.3:
            return f"SELECT id, {self._from.call(Kind.GENERATOR)} FROM v{self._where()}"
        view = f"LATERAL VIEW {outer}explode({self._from.of(kind)}) g AS e"
        if self._random.random() < 0.3:
            return f"SELECT e, count(*), min(id) FROM v {view} GROUP BY e"
        return f"SELECT id, e, {self._items(most=1)} FROM v {view}{self._where()}"

    def _filtered(self) -> str:
        kind = self._random.choice(ORDERED)
        inner, outer = self._from.of(kind, "w."), self._from.of(kind, "v.")
        negated = self._random.choice(("", "NOT "))
        other = self._from.condition("w.")
        condition = self._random.choice(
            (
                f"{outer} {negated}IN (SELECT {inner} FROM w{self._where('w.')})",
                f"{negated}EXISTS (SELECT 1 FROM w WHERE w.id = v.id AND {other})",
                f"{outer} >= (SELECT max({inner}) FROM w WHERE w.id <= 2)",
                f"{self._from.condition('v.')} OR v.id IN (SELECT w.id FROM w WHERE {other})",
            )
        )
        return f"SELECT v.id, {self._items('v.', 1)} FROM v WHERE {condition}"

    def _joined(self) -> str:
        kind = self._random.choice(_JOINS)
        key = self._random.choice(self._keys)
        more = f" AND {self._from.condition('w.')}" if self._random.random() < 0.4 else ""
        shown = "v.id, " + self._items("v.", 1)
        if "SEMI" not in kind and "ANTI" not in kind:
            shown += ", w.id, " + self._from.expression("w.")
        return f"SELECT {shown} FROM v {kind} w ON v.{key} = w.{key}{more}"

    def _united(self) -> str:
        one, other = self._random.choice(ORDERED), self._random.choice(ORDERED)
        operator = self._random.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"))
        other = one if self._random.random() < 0.7 else other
        return f"SELECT {self._from.of(one)} AS c FROM v {operator} SELECT {self._from.of(other)} FROM w"

    def _nested(self) -> str:
        kind = self._random.choice(ORDERED)
        inner = f"SELECT id, {self._from.of(kind)} AS c, {self._from.expression()} AS e FROM v{self._where()}"
        if self._random.random() < 0.5:
            return f"WITH t AS ({inner}) SELECT c, count(*), count(e) FROM t GROUP BY c"
        return f"SELECT t.id, t.e, t.c IS NULL FROM ({inner}) t WHERE t.c IS NOT NULL"

    def _sorted(self) -> str:
        kind = self._random.choice(ORDERED)
        way = self._random.choice(("", " DESC", " NULLS LAST", " DESC NULLS FIRST"))
        limit = f" LIMIT {self._random.randint(0, 5)}" if self._random.random() < 0.6 else ""
        return f"SELECT id, {self._items(most=1)} FROM v ORDER BY {self._from.of(kind)}{way}, id{limit}"
