"""Random expressions of SQLAlchemy over a table of random values, to be compiled with parameters and with
literals."""

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, ColumnElement, MetaData, Table

TABLE = Table(
    "t",
    MetaData(),
    Column("id", sa.Integer),
    Column("n", sa.Integer),
    Column("big%", sa.BigInteger),
    Column("d`c.d", sa.Numeric(12, 3)),
    Column("f😀", sa.Double),
    Column("Text", sa.String),
    Column("flag", sa.Boolean),
    Column("day", sa.Date),
    Column("at", sa.DateTime),
    Column("tz", sa.DateTime(timezone=True)),
    Column("raw", sa.LargeBinary),
    Column("span", sa.Interval),
)
_LETTERS = "ab'\\\"%_`?:;-/*\n\t\r\0\x1a é😀\u202e${}nbr0"


def _moment(random: random.Random) -> datetime.datetime:
    year = random.choice((1, 1582, 1900, 1969, 1970, 2020, 9998))
    micros = random.choice((0, 1, 500_000, 999_999))
    return datetime.datetime(
        year, random.randint(1, 12), random.randint(1, 28), random.randint(0, 23), 30, 1, micros
    )


_ZONES = (datetime.UTC, datetime.timezone(datetime.timedelta(hours=5, minutes=30)))
#: Makers of values by column.
_VALUES: dict[str, Callable[[random.Random], Any]] = {
    "n": lambda r: r.choice((0, 1, -1, r.randint(-(2**31) + 1, 2**31 - 1))),
    "big%": lambda r: r.choice((0, 2**63 - 1, -(2**63) + 1, r.randint(-(2**40), 2**40))),
    "d`c.d": lambda r: Decimal(r.randint(-(10**9), 10**9)).scaleb(-r.randint(0, 3)),
    "f😀": lambda r: r.choice((0.0, -1.5, 1e16, 1e-7, 1e300, float("inf"), r.uniform(-1e6, 1e6))),
    "Text": lambda r: "".join(r.choices(_LETTERS, k=r.randint(0, 8))),
    "flag": lambda r: r.random() < 0.5,
    "day": lambda r: _moment(r).date(),
    "at": _moment,
    "tz": lambda r: _moment(r).replace(year=r.choice((1900, 2020)), tzinfo=r.choice(_ZONES)),
    "raw": lambda r: r.randbytes(r.randint(0, 5)),
    "span": lambda r: datetime.timedelta(r.randint(-400, 400), r.randint(0, 86399), r.randint(0, 999_999)),
}
#: The columns that :func:`value` knows.
NAMES = tuple(_VALUES)


def value(name: str, random: random.Random) -> Any:
    """A value for a column, at times null."""
    return None if random.random() < 0.1 else _VALUES[name](random)


def rows(random: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows for the table."""
    return [{"id": place, **{name: value(name, random) for name in _VALUES}} for place in range(count)]


def condition(random: random.Random, depth: int = 2) -> ColumnElement[bool]:
    """A condition over the table's columns."""
    if depth and random.random() < 0.5:
        left, right = condition(random, depth - 1), condition(random, depth - 1)
        return random.choice((sa.and_(left, right), sa.or_(left, right), sa.not_(left)))
    name = random.choice(list(_VALUES))
    column: ColumnElement[Any] = TABLE.c[name]
    values = [_VALUES[name](random) for _ in range(3)]
    choices = [
        column == values[0],
        column != values[0],
        column.is_(None),
        column.is_distinct_from(values[0]),
        column.in_(values[: random.randint(0, 3)]),
        column.not_in(values[: random.randint(0, 3)]),
        sa.func.coalesce(column, values[1]) == values[0],
        sa.case((column == values[0], True), else_=False),
    ]
    if name != "flag":
        choices += [column < values[0], column.between(values[0], values[1])]
    if name == "Text":
        choices += [
            column.contains(values[0], autoescape=True),
            column.startswith(values[0][:1], autoescape=True),
            (column + values[0]) == (values[1] + column),
            column.icontains(values[0][:2], autoescape=True),
        ]
    return random.choice(choices)


def projection(random: random.Random) -> ColumnElement[Any]:
    """A value computed from a row."""
    name = random.choice([name for name in _VALUES if name not in ("flag", "raw", "at", "tz", "day", "span")])
    column, constant = TABLE.c[name], _VALUES[name](random)
    match name:
        case "Text":
            return random.choice((column + constant, constant + column, sa.func.length(column + constant)))
        case "f😀":
            return random.choice((column * constant, column - constant, -sa.literal(constant) + column))
        case "d`c.d":
            return random.choice((column + constant, column - constant, -sa.literal(constant)))
    return sa.cast(column, sa.Numeric(20, 0)) - random.choice((constant, -sa.literal(constant)))


def query(random: random.Random) -> sa.Select[Any]:
    """A query whose rows have one order."""
    chosen = (
        sa.select(TABLE.c.id, projection(random).label("p")).where(condition(random)).order_by(TABLE.c.id)
    )
    if random.random() < 0.2:
        chosen = chosen.limit(random.randint(0, 5)).offset(random.randint(0, 3))
    return chosen
