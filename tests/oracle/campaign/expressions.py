"""Random expressions over a view of many types, built from the signatures of functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from random import Random
from typing import Final

from tests.oracle.campaign.signatures import Argument, Kind, Signature

#: The columns of the views, by name, with literals of each type; ``id`` comes before them.
_VALUES: Final = {
    "ti": ("tinyint", ("0Y", "1Y", "-7Y", "127Y")),
    "i": ("int", ("0", "1", "2", "-1", "3", "100", "-2147483647")),
    "l": ("bigint", ("0L", "1L", "-5L", "10000000000L")),
    "f": ("float", ("0.0F", "1.5F", "-2.25F", "float('NaN')")),
    "d": ("double", ("0.0D", "-0.0D", "1.5D", "-2.5D", "0.1D", "1e10D", "double('NaN')")),
    "n": ("decimal(10,2)", ("0.00", "1.50", "-2.25", "99999999.99", "12.3")),
    "s": ("string", ("''", "'a'", "'Ab c'", "'x,y,z'", "'é'", "'12'", "'2021-03-04'", "'😀'", "' pad '")),
    "j": ("string", ("'{\"a\":1,\"b\":[1,2]}'", "'[1,2,3]'", "'{\"a\":{\"b\":\"x\"}}'", "'null'", "'{'")),
    "b": ("boolean", ("true", "false")),
    "x": ("binary", ("X''", "X'61'", "X'00FF'", "X'C3A9'")),
    "dt": ("date", ("DATE'2020-02-29'", "DATE'1969-12-31'", "DATE'2024-12-30'", "DATE'1582-10-04'")),
    "ts": ("timestamp", ("TIMESTAMP'2020-02-29 12:30:45.123456Z'", "TIMESTAMP'1969-12-31 23:59:59Z'")),
    "nt": ("timestamp_ntz", ("TIMESTAMP_NTZ'2020-02-29 12:30:45.5'", "TIMESTAMP_NTZ'1900-01-01 00:00:00'")),
    "iv": ("interval day to second", ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '-5' HOUR")),
    "ym": ("interval year to month", ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '-3' MONTH")),
    "ai": ("array<int>", ("array(1, 2, 3)", "array(3, NULL, 1)", "array(5)", "CAST(array() AS array<int>)")),
    "ad": ("array<double>", ("array(1.5D, 0.0D)", "array(double('NaN'), NULL, -1D)")),
    "sa": ("array<string>", ("array('a', 'b')", "array('b', NULL, '')", "array('x')")),
    "aa": ("array<array<int>>", ("array(array(1, 2), array(3))", "array(array(1), NULL)")),
    "m": ("map<string,int>", ("map('a', 1, 'b', 2)", "map('c', CAST(NULL AS INT))")),
    "mi": ("map<int,string>", ("map(1, 'a', 2, 'b')", "map(7, '')")),
    "st": ("struct<a:int,b:string>", ("named_struct('a', 1, 'b', 'x')", "named_struct('a', -1, 'b', '')")),
    "ar": ("array<struct<a:int,b:string>>", ("array(named_struct('a', 1, 'b', 'x'))",)),
}  # fmt: skip
COLUMNS: Final = {name: kind for name, (kind, _) in _VALUES.items()}
#: Types by which rows are grouped and sorted.
ORDERED: Final = ("tinyint", "int", "bigint", "decimal(10,2)", "string", "boolean", "date", "timestamp")
_NUMBERS: Final = ("tinyint", "int", "bigint", "float", "double", "decimal(10,2)")
_COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=", "<=>")
#: How deep calls nest.
_DEEPEST: Final = 3


def view(random: Random, name: str, rows: int) -> str:
    """The statement that makes a view of rows of :data:`COLUMNS`, one value in six being null."""
    lines = []
    for row in range(rows):
        values = [
            f"CAST({'NULL' if random.random() < 0.16 else random.choice(literals)} AS {kind})"
            for kind, literals in _VALUES.values()
        ]
        lines.append(f"({row}, {', '.join(values)})")
    names = ", ".join(["id", *_VALUES])
    inline = f"VALUES {', '.join(lines)} AS {name}({names})"
    return f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {inline}"


class Expressions:
    """A source of random expressions. The texts refer to columns as ``{prefix}{name}``."""

    def __init__(self, random: Random, signatures: Iterable[Signature]) -> None:
        self._random = random
        self._by_kind: dict[Kind, dict[str, list[Signature]]] = defaultdict(lambda: defaultdict(list))
        self._by_result: dict[str, list[Signature]] = defaultdict(list)
        for signature in signatures:
            self._by_kind[signature.kind][signature.name].append(signature)
            if signature.kind is Kind.SCALAR:
                self._by_result[signature.result].append(signature)

    def call(self, kind: Kind, prefix: str = "") -> str:
        """A call of any function of a kind, each with the same chance."""
        by_name = self._by_kind[kind]
        signature = self._random.choice(by_name[self._random.choice(list(by_name))])
        return self._called(signature, prefix, 1)

    def expression(self, prefix: str = "") -> str:
        """An expression of any type."""
        if self._random.random() < 0.8:
            return self.call(Kind.SCALAR, prefix)
        return self.of(self._random.choice(list(COLUMNS.values())), prefix, 0)

    def condition(self, prefix: str = "") -> str:
        """An expression of type BOOLEAN."""
        return self._condition(prefix, 1)

    def of(self, kind: str, prefix: str = "", depth: int = 1) -> str:
        """An expression of a type."""
        pick = self._random.random()
        if depth >= _DEEPEST or pick < 0.4:
            return self._leaf(kind, prefix)
        if pick < 0.7 and (producers := self._by_result.get(kind)):
            return self._called(self._random.choice(producers), prefix, depth + 1)
        return self._wrapped(kind, prefix, depth + 1)

    def _leaf(self, kind: str, prefix: str) -> str:
        names = [name for name, other in COLUMNS.items() if other == kind]
        if names and self._random.random() < 0.75:
            return prefix + self._random.choice(names)
        literals = [one for other, values in _VALUES.values() if other == kind for one in values]
        return self._random.choice(literals) if literals else f"CAST(NULL AS {kind})"

    def _wrapped(self, kind: str, prefix: str, depth: int) -> str:
        def of(other: str) -> str:
            return self.of(other, prefix, depth)

        forms = [
            lambda: f"CASE WHEN {self._condition(prefix, depth)} THEN {of(kind)} ELSE {of(kind)} END",
            lambda: f"CASE {of('int')} WHEN 1 THEN {of(kind)} WHEN {of('int')} THEN {of(kind)} END",
            lambda: f"coalesce({of(kind)}, {of(kind)})",
            lambda: f"if({self._condition(prefix, depth)}, {of(kind)}, NULL)",
        ]
        if kind in _NUMBERS:
            operator = self._random.choice("+-*")
            forms += [
                lambda: f"CAST({of(kind)} {operator} {of(self._random.choice(_NUMBERS))} AS {kind})",
                lambda: f"try_cast({of(self._random.choice((*_NUMBERS, 'string', 'boolean')))} AS {kind})",
                lambda: f"-({of(kind)})",
            ]
        if kind == "string":
            forms += [
                lambda: f"({of('string')} || {of('string')})",
                lambda: f"CAST({of(self._random.choice(list(COLUMNS.values())))} AS string)",
            ]
        if kind == "boolean":
            return self._condition(prefix, depth)
        if kind == "array<int>":
            forms += [
                lambda: f"transform({of('array<int>')}, e -> e + {of('int')})",
                lambda: f"filter({of('array<int>')}, e -> e > {of('int')})",
            ]
        return self._random.choice(forms)()

    def _condition(self, prefix: str, depth: int) -> str:
        if depth >= _DEEPEST:
            return self._leaf("boolean", prefix)
        kind = self._random.choice(ORDERED)

        def of(other: str) -> str:
            return self.of(other, prefix, depth + 1)

        negated = self._random.choice(("", "NOT "))
        forms = (
            lambda: f"({of(kind)} {self._random.choice(_COMPARISONS)} {of(kind)})",
            lambda: f"({of('int')} {self._random.choice(_COMPARISONS)} {of(self._random.choice(_NUMBERS))})",
            lambda: f"({of(self._random.choice(list(COLUMNS.values())))} IS {negated}NULL)",
            lambda: f"({of(kind)} {negated}IN ({of(kind)}, {of(kind)}))",
            lambda: f"({of(kind)} BETWEEN {of(kind)} AND {of(kind)})",
            lambda: f"({self._condition(prefix, depth + 1)} AND {self._condition(prefix, depth + 1)})",
            lambda: f"({self._condition(prefix, depth + 1)} OR {self._condition(prefix, depth + 1)})",
            lambda: f"(NOT {self._condition(prefix, depth + 1)})",
            lambda: f"({of('string')} LIKE {self._random.choice(('%a%', '_', 'x%', ''))!r})",
            lambda: f"exists({of('array<int>')}, e -> e > {of('int')})",
        )
        return self._random.choice(forms)()

    def _called(self, signature: Signature, prefix: str, depth: int) -> str:
        given = ", ".join(self._argument(argument, prefix, depth) for argument in signature.arguments)
        return f"{signature.name}({given})"

    def _argument(self, argument: Argument, prefix: str, depth: int) -> str:
        """An argument of an example is kept half of the time, as many must be constants; now and then it is
        of another type."""
        pick = self._random.random()
        if argument.text is not None and pick < 0.5:
            return argument.text
        if pick < 0.55:
            return "NULL"
        if argument.type == "void" or pick < 0.6:
            return self.of(self._random.choice(list(COLUMNS.values())), prefix, depth)
        return self.of(_column_type(argument.type), prefix, depth)


def _column_type(kind: str) -> str:
    """The type of a column that stands for a type of an example."""
    if kind.startswith("decimal"):
        return "decimal(10,2)"
    if kind.startswith("interval"):
        return "interval year to month" if "year" in kind or "month" in kind else "interval day to second"
    return kind
