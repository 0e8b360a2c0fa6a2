"""Random conditions on the columns of the planner's cases, that fail for no row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Final, NamedTuple

from hypothesis import strategies as st


class Predicate(NamedTuple):
    """A condition; each ``?`` in it stands for one of the constants."""

    text: str
    constants: tuple[object, ...] = ()

    def literally(self) -> str:
        """The condition without parameters."""
        parts = self.text.split("?")
        texts = [*map(literal, self.constants), ""]
        return "".join(part + text for part, text in zip(parts, texts, strict=True))

    def partly(self, chosen: Sequence[bool]) -> tuple[str, list[object]]:
        """The condition with those constants as parameters, and their values."""
        parts = self.text.split("?")
        text, arguments = parts[0], []
        for constant, is_parameter, part in zip(self.constants, chosen, parts[1:], strict=True):
            if is_parameter:
                arguments.append(constant)
            text += ("?" if is_parameter else literal(constant)) + part
        return text, arguments


def literal(value: object) -> str:
    """The value in SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int():
            return f"{value}L" if abs(value) > 0x7FFF_FFFF else str(value)
        case float():
            return f"{value!r}D"
        case Decimal():
            return f"{value}BD"
        case str():
            return f"'{value}'"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            kind = "timestamp" if value.tzinfo else "timestamp_ntz"
            return f"{kind}'{value.replace(tzinfo=None)}'"
        case date():
            return f"date'{value}'"
        case _:
            raise TypeError(value)


_SMALL: Final = list(range(-1, 8))
_NUMBERS: Final[list[object]] = [
    *_SMALL,
    *_SMALL,
    40_000,
    5_000_000_000,
    *map(Decimal, ("5.0", "5.5", "1.25")),
    5.0,
    1.5,
    0.5,
    -0.0,
]
#: Constants that a column of the name is compared with.
CONSTANTS: Final[dict[str, list[object]]] = {
    **dict.fromkeys(("i", "j", "l", "h", "b", "dec", "wide", "f", "g", "v"), _NUMBERS),
    "s": ["", "a", "A", "b", "ab", "5"],
    "d": [
        *(date(2024, 2, day) for day in (27, 28, 29)),
        date(2024, 3, 1),
        date(9999, 12, 31),
        datetime(2024, 2, 28, tzinfo=UTC),
        datetime(2024, 2, 28, 1, tzinfo=UTC),
    ],
    "ts": [*(datetime(2024, 2, 28, hour, tzinfo=UTC) for hour in (0, 1, 2)), date(2024, 2, 28)],
    "ntz": [*(datetime(2024, 2, 28, hour) for hour in (0, 1, 2)), date(2024, 2, 28)],
    "bo": [True, False],
    "bin": [b"", b"\x00\xff", b"a"],
}
_CASTS: Final = {
    "i": ("bigint", "string", "decimal(20,2)", "double"),
    "h": ("int", "bigint", "double"),
    "b": ("int", "string"),
    "d": ("string", "timestamp"),
    "bo": ("string",),
}
_CAST_CONSTANTS: Final[dict[str, list[object]]] = {
    "string": ["5", "05", "true", "2024-02-28"],
    "timestamp": [datetime(2024, 2, 28, tzinfo=UTC), datetime(2024, 2, 28, 1, tzinfo=UTC)],
}
#: Constants in rows, which have to have the very types of their columns.
_ROWS: Final[dict[str, list[object]]] = {
    "i": [*_SMALL],
    "j": [*_SMALL],
    "d": [date(2024, 2, 28), date(2024, 3, 1)],
    "bo": [True, False],
}


def constants(name: str) -> st.SearchStrategy[object]:
    """What a column is compared with, now and then null."""
    pool = st.sampled_from(CONSTANTS[name])
    return st.one_of(pool, pool, pool, pool, st.none())


@st.composite
def leaves(draw: st.DrawFn, names: Sequence[str]) -> Predicate:
    """A condition on one of the columns."""
    name = draw(st.sampled_from(names))
    match draw(
        st.sampled_from(["equal", "equal", "equal", "in", "in", "safe", "null", "order", "between", *_RARE])
    ):
        case "equal":
            sides = draw(st.sampled_from([f"{name} = ?", f"? = {name}"]))
            return Predicate(sides, (draw(constants(name)),))
        case "in":
            values = tuple(draw(st.lists(constants(name), min_size=1, max_size=5)))
            return Predicate(f"{name} IN ({', '.join('?' for _ in values)})", values)
        case "safe":
            return Predicate(f"{name} <=> ?", (draw(constants(name)),))
        case "null":
            return Predicate(f"{name} IS {draw(st.sampled_from(['NULL', 'NOT NULL']))}")
        case "order":
            function = draw(st.sampled_from(["<", "<=", ">", ">=", "<>"]))
            return Predicate(f"{name} {function} ?", (draw(constants(name)),))
        case "between":
            low, high = draw(constants(name)), draw(constants(name))
            return Predicate(f"{name} BETWEEN ? AND ?", (low, high))
        case "cast" if name in _CASTS:
            kind = draw(st.sampled_from(_CASTS[name]))
            value = draw(st.sampled_from(_CAST_CONSTANTS.get(kind, list(_SMALL))))
            return Predicate(f"CAST({name} AS {kind}) = ?", (value,))
        case "row" if len(names) == 2 and set(names) <= _ROWS.keys():
            pairs = st.tuples(*(st.sampled_from(_ROWS[each]) for each in names))
            rows = draw(st.lists(pairs, min_size=1, max_size=3))
            texts = ", ".join("(?, ?)" for _ in rows)
            values = tuple(value for row in rows for value in row)
            return Predicate(f"({', '.join(names)}) IN ({texts})", values)
        case "given":
            return Predicate("? = 1", (draw(st.sampled_from([1, 2, None])),))
        case _:
            return Predicate(
                draw(st.sampled_from(["i = j", "v = 1", "coalesce(v, 0) = 0", "true", "i + 0L = 5"]))
            )


_RARE: Final = ("cast", "cast", "row", "row", "given", "other")


@cache
def predicates(names: tuple[str, ...]) -> st.SearchStrategy[Predicate]:
    """Conditions on these columns, with AND, OR and NOT."""

    def join(parts: tuple[Predicate, Predicate, str]) -> Predicate:
        left, right, word = parts
        return Predicate(f"({left.text} {word} {right.text})", left.constants + right.constants)

    def negate(inner: Predicate) -> Predicate:
        return Predicate(f"NOT ({inner.text})", inner.constants)

    return st.recursive(
        leaves(names),
        lambda inner: st.one_of(
            st.tuples(inner, inner, st.sampled_from(["AND", "AND", "OR"])).map(join),
            st.tuples(inner, inner, st.sampled_from(["AND", "OR"])).map(join),
            inner.map(negate),
        ),
        max_leaves=5,
    )
