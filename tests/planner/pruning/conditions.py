"""Conditions on keys, which keys they leave, and whether that says it all."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple


class Case(NamedTuple):
    """``keys`` are the clustering columns, ``expected`` the keys found (None = all)."""

    keys: str
    where: str
    expected: list[object] | None
    arguments: tuple[object, ...] = ()
    exact: bool = True


DAY = date(2024, 2, 28)

EXACT = [
    # equality
    Case("i", "i = 5", [5]),
    Case("i", "5 = i", [5]),
    Case("i", "i = ?", [5], (5,)),
    Case("i", "i = ? + 1", [6], (5,), exact=False),  # the sum may overflow
    Case("i", "i = 2 + 3", [5]),
    Case("i", "i = 5 and v = 1", [5], exact=False),
    Case("i", "v = 1 and i = 5", [5], exact=False),
    Case("s", "s = 'a'", ["a"]),
    Case("s", "s = ?", ["a"], ("a",)),
    Case("s", "s = concat('a', ?)", ["ab"], ("b",)),
    Case("bin", "bin = x'00ff'", [b"\x00\xff"]),
    Case("bo", "bo", [True]),
    Case("bo", "not bo", [False]),
    Case("bo", "bo = true", [True]),
    Case("bo", "bo = ?", [False], (False,)),
    Case("d", "d = date'2024-02-28'", [DAY]),
    Case("ts", "ts = timestamp'2024-02-28 01:00:00'", [datetime(2024, 2, 28, 1, tzinfo=UTC)]),
    Case("ts", "ts = timestamp_ntz'2024-02-28 00:00:00'", [datetime(2024, 2, 28, tzinfo=UTC)]),
    Case("ntz", "ntz = timestamp_ntz'2024-02-28 01:00:00'", [datetime(2024, 2, 28, 1)]),
    Case("dec", "dec = 5.5", [Decimal("5.5")]),
    Case("g", "g = 1.5D", [1.5]),
    Case("g", "g = -0.0D", [0.0]),
    Case("g", "g = ?", [0.0], (-0.0,)),
    # lists
    Case("i", "i in (1, 2, 3)", [1, 2, 3]),
    Case("i", "i in (1, 2, 1)", [1, 2]),
    Case("i", "i in (1, null)", [1]),
    Case("i", "i in (?, ?)", [1, 2], (1, 2)),
    Case("i", "i in (?, ?)", [1], (1, 1)),
    Case("i", "i in (?, ?)", [1], (1, None)),
    Case("i", "i in (1, 2) and i in (2, 3)", [2]),
    Case("i", "i in (1, 2) and i in (3, 4)", []),
    Case("i", "i in (1, ?) and i in (2, ?)", [2], (2, 4)),
    Case("i", "i in (1, 2, 3) and i > 1", [2, 3]),
    Case("i", "i in (1, 2, 3) and i > ?", [2, 3], (1,)),
    Case("i", "i in (1, 2) and i is not null", [1, 2]),
    Case("s", "s in ('a', 'b') and s is not null", ["a", "b"]),
    Case("d", "d in ('2024-02-28', '2024-02-29')", [DAY, date(2024, 2, 29)]),
    # alternatives
    Case("i", "i = 1 or i = 2", [1, 2]),
    Case("i", "i = 1 or i = 2 or i in (3, 4)", [1, 2, 3, 4]),
    Case("i", "i = ? or i = ?", [1, 2], (1, 2)),
    Case("i", "i = 1 or i is null", [1, None]),
    Case("i", "(i = 1 and v = 2) or (i = 3 and v = 4)", [1, 3], exact=False),
    Case("i", "i between 1 and 2 or i = 7", [1, 2, 7]),
    Case("bo", "bo or not bo", [True, False]),
    # contradictions
    Case("i", "i = 1 and i = 2", []),
    Case("i", "i = null", []),
    Case("i", "i = ?", [], (None,)),
    Case("i", "i between ? and ?", [], (1, None)),
    Case("i", "i = 1 and i is null", []),
    Case("i", "i > 3 and i < 3", []),
    Case("i", "i > 3 and i < 4", []),
    Case("i", "i > ? and i < ?", [], (3, 3), exact=False),
    Case("i", "false", []),
    Case("i", "i = 3000000000", []),
    Case("i", "i = 1.5", []),
    Case("i", "i between 3 and 1", []),
    Case("i, j", "i = 1 and i = 2", []),
    Case("i", "v = 1 and ? = 2", [], (1,), exact=False),
    # null
    Case("i", "i is null", [None]),
    Case("i", "i <=> null", [None]),
    Case("i", "i <=> 5", [5]),
    Case("i", "i <=> ?", [5], (5,)),
    Case("i, s", "i is null and s is null", [(None, None)]),
    Case("i, s", "i = 1 and s <=> null", [(1, None)]),
    # compound keys
    Case("i, j", "i = 1 and j = 2", [(1, 2)]),
    Case("j, i", "i = 1 and j = 2", [(2, 1)]),
    Case("i, j", "i in (1, 2) and j in (3, 4)", [(1, 3), (1, 4), (2, 3), (2, 4)]),
    Case("i, j", "(i = 1 and j = 2) or (i = 3 and j = 4)", [(1, 2), (3, 4)]),
    Case("i, j", "(i = 1 or i = 2) and j = ?", [(1, 9), (2, 9)], (9,)),
    Case("i, j", "(i, j) in ((1, 2), (3, 4))", [(1, 2), (3, 4)]),
    Case("i, j", "i = 1 and j = i", [(1, 1)], exact=False),
    Case("i, j", "i in (1, 2) and j <=> i and i <> 3", [(1, 1), (1, 2), (2, 1), (2, 2)], exact=False),
    Case("i, j", "(i, j) = (1, 2)", [(1, 2)]),
    Case("i, j", "(i, j) in ((1, ?), (3, ?))", [(1, 2), (3, 4)], (2, 4)),
    Case("i, j", "(i, j) in ((cast(null as int), 2), (3, 4))", [(None, 2), (3, 4)]),
    Case("i, s, d", "i = 1 and s = 'a' and d = ?", [(1, "a", DAY)], (DAY,)),
    # ranges
    Case("i", "i between 1 and 3", [1, 2, 3]),
    Case("i", "i >= 1 and i < 3", [1, 2]),
    Case("i", "1 < i and 3 >= i", [2, 3]),
    Case("i", "i between ? and ?", [1, 2], (1, 2), exact=False),
    Case("i", "i > 2147483645", [2147483646, 2147483647]),
    Case("i", "i <= -2147483648", [-2147483648]),
    Case("b", "b > 125", [126, 127]),
    Case("d", "d between '2024-02-28' and '2024-03-01'", [DAY, date(2024, 2, 29), date(2024, 3, 1)]),
    Case("d", "d >= ? and d < ?", [DAY], (DAY, date(2024, 2, 29)), exact=False),
    Case("i", "i > 0.5 and i < 2.5", [1, 2]),
    Case("i", "i > 0.5D and i <= 2D", [1, 2]),
    Case("i, j", "i between 1 and 2 and j = 3", [(1, 3), (2, 3)]),
    # casts that keep values apart
    Case("i", "i = 5L", [5]),
    Case("i", "i = ?", [5], (5.0,)),
    Case("i", "i = ?", [], (5.5,)),
    Case("i", "i = ?", [], (1 << 40,)),
    Case("i", "i = ?", [5], (Decimal("5.0"),)),
    Case("i", "i = ?", [], (Decimal("5.1"),)),
    Case("i", "i = '5'", [5]),
    Case("l", "l = 1e0", [1]),
    Case("l", "l = ?", [1], (1.0,), exact=False),
    Case("h", "h = 5", [5]),
    Case("h", "h in (5, 40000)", [5]),
    Case("h", "h = ?", [5], (5,)),
    Case("h", "h = ?", [], (40000,)),
    Case("dec", "dec = 5", [Decimal(5)]),
    Case("dec", "dec = ?", [Decimal(5)], (5,)),
    Case("dec", "dec = ?", [], (Decimal("5.005"),)),
    Case("dec", "dec = 5.5D", [Decimal("5.5")]),
    Case("dec", "dec = 0.1D", [Decimal("0.1")]),
    Case("dec", "dec = ?", [Decimal("0.1")], (0.1,)),
    Case("wide", "wide = 1.25", [Decimal("1.25")]),
    Case("f", "f = 0.5D", [0.5]),
    Case("f", "f = 0.1D", []),
    Case("i", "cast(i as string) = '5'", [5]),
    Case("i", "cast(i as string) = '05'", []),
    Case("i", "cast(i as bigint) in (5, 6)", [5, 6]),
    Case("i", "cast(cast(i as bigint) as decimal(20, 1)) = 5", [5]),
    Case("i", "cast(i as bigint) is null", [None]),
    Case("d", "d = timestamp'2024-02-28 00:00:00'", [DAY]),
    Case("d", "d = timestamp'2024-02-28 00:00:01'", []),
    Case("d", "d = ?", [DAY], (datetime(2024, 2, 28, tzinfo=UTC),), exact=False),
    Case("d", "d = '2024-02-28'", [DAY]),
    Case("d", "d = ?", [DAY], ("2024-02-28",), exact=False),  # the text may be no date
    Case("ts", "ts = ?", [datetime(2024, 2, 28, tzinfo=UTC)], ("2024-02-28",), exact=False),
    # conditions without columns
    Case("i", "? is null or i = ?", [5], (5, 5), exact=False),
    Case("i", "? > 3 or i = ?", [5], (2, 5), exact=False),
    Case("i", "? and i = 5", [5], (True,)),
    Case("i", "? and i = 5", [], (False,)),
    # functions of the run
    Case("s", "s = current_catalog()", ["spark_catalog"]),
]

#: Conditions after which every key is still possible.
ALL_KEYS = [
    Case("i", "i <> 5", None, exact=False),
    Case("i", "not i in (1, 2)", None, exact=False),
    Case("i", "i is not null", None, exact=False),
    Case("i", "i > 5", None, exact=False),
    Case("i", "i < 5", None, exact=False),
    Case("i", "i > ?", None, (5,), exact=False),
    Case("i", "i between 1 and 5000", None, exact=False),
    Case("i", "i between ? and ?", None, (1, 5000), exact=False),
    Case("i", "i = j", None, exact=False),
    Case("i", "i = v", None, exact=False),
    Case("i", "i = i", None, exact=False),
    Case("i", "i = v + 1", None, exact=False),
    Case("i", "i + 1 = 5", None, exact=False),
    Case("i", "abs(i) = 5", None, exact=False),
    Case("i", "-i = 5", None, exact=False),
    Case("i", "i % 2 = 0", None, exact=False),
    Case("i", "v = 5", None, exact=False),
    Case("i", "v in (1, 2)", None, exact=False),
    Case("i", "true", None),
    Case("i", "i = 5 or v = 1", None, exact=False),
    Case("i", "i = 5 or true", None),
    Case("i", "i = 5 or i > 7", None, exact=False),
    Case("i", "i = 5 or i <> 5", None, exact=False),
    Case("i", "i = 5 or s like 'a%'", None, exact=False),
    Case("i", "not (i = 5)", None, exact=False),
    Case("i", "not (i = 5 and v = 1)", None, exact=False),
    Case("i", "coalesce(i, 0) = 5", None, exact=False),
    Case("i", "coalesce(i = 5, true)", None, exact=False),
    Case("i", "ifnull(i, 5) = 5", None, exact=False),
    Case("i", "if(i = 5, true, v = 1)", None, exact=False),
    Case("i", "case when i = 5 then true else v = 1 end", None, exact=False),
    Case("i", "case when v = 5 then i = 1 else i = 2 end", None, exact=False),
    Case("i", "(i = 5) = (v = 1)", None, exact=False),
    Case("i", "(i = 5) <=> (v = 1)", None, exact=False),
    Case("i", "(i = 5) is not null", None, exact=False),
    Case("i", "(i = 5) is null", None, exact=False),
    Case("i", "(i = 5) is not true", None, exact=False),
    Case("i", "i in (v, 5)", None, exact=False),
    Case("i", "5 in (i, v)", None, exact=False),
    Case("i", "greatest(i, v) = 5", None, exact=False),
    Case("i", "i = cast(rand() * 10 as int)", None),  # which no scan filters by
    Case("i", "array_contains(array(1, 2), i)", None, exact=False),
    Case("i", "i <=> v", None, exact=False),
    Case("i", "? is null or i = ?", None, (None, 5)),
    Case("i", "? > 3 or i = ?", None, (4, 5), exact=False),
    Case("i, j", "i = 1", None, exact=False),
    Case("i, j", "j = 1", None, exact=False),
    Case("i, j", "i = 1 and v = 2", None, exact=False),
    Case("i, j", "i = 1 or j = 2", None, exact=False),
    Case("i, j", "i = 1 and j > 2", None, exact=False),
    Case("i, j", "i = 1 and j <> 2", None, exact=False),
    Case("i, j", "(i = 1 and j = 2) or i = 3", None, exact=False),
    Case("i, j", "i in (1, 2) and j is not null", None, exact=False),
    # casts that lose something, or that fail
    Case("s", "s = 5", None, exact=False),
    Case("s", "cast(s as int) = 5", None, exact=False),
    Case("s", "cast(s as date) = date'2024-02-28'", None, exact=False),
    Case("l", "cast(l as int) = 5", None, exact=False),
    Case("l", "try_cast(l as int) = 5", None, exact=False),
    Case("l", "l = 1e16", None, exact=False),
    Case("l", "l = ?", None, (1e16,), exact=False),
    Case("l", "cast(l as float) = 5", None, exact=False),
    Case("i", "cast(i as float) = 5", None, exact=False),
    Case("i", "cast(i as decimal(5, 0)) = 5", None, exact=False),
    Case("dec", "cast(dec as int) = 5", None, exact=False),
    Case("dec", "cast(dec as decimal(10, 1)) = 5", None, exact=False),
    Case("wide", "wide = 1.25D", None, exact=False),
    Case("ts", "cast(ts as date) = date'2024-02-28'", None, exact=False),
    Case(
        "ts", "ts > timestamp'2024-02-28 00:00:00' and ts < timestamp'2024-02-28 00:00:01'", None, exact=False
    ),
    Case("ntz", "ntz = timestamp'2024-02-28 00:00:00'", None, exact=False),
    Case("d", "year(d) = 2024", None, exact=False),
    Case("d", "date_trunc('month', d) = timestamp'2024-02-01 00:00:00'", None, exact=False),
    Case("d", "d >= '2024-02-28'", None, exact=False),
    Case("d", "d > '9999-12-30'", None, exact=False),  # there are later dates than Python's
    Case("d", "cast(d as string) = '2024-02-28'", None, exact=False),
    Case("s", "s > 'a' and s < 'b'", None, exact=False),
    Case("s", "s like 'a%'", None, exact=False),
    Case("s", "upper(s) = 'A'", None, exact=False),
    Case("s", "s || 'x' = 'ax'", None, exact=False),
    Case("dec", "dec between 1 and 2", None, exact=False),
    Case("g", "g between 1 and 2", None, exact=False),
    Case("i", "cast(i as string) > '5' and cast(i as string) < '7'", None, exact=False),
    Case("i", "i = cast(? as int)", None, ("x",), exact=False),  # fails where a row asks
]


def name(case: Case) -> str:
    """What a test's parameters are called."""
    return f"{case.keys}: {case.where} {case.arguments or ''}".rstrip()
