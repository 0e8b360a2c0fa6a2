"""Random window calls with frames of every kind, and random aggregates, as SQL over one view, by a seed."""

from random import Random
from typing import Final

#: The view that the queries read. Keys repeat, are null, and lie at many distances; ``id`` is unique.
SETUP: Final = (
    "CREATE TEMPORARY VIEW v AS SELECT *, CAST(d / 10 AS DECIMAL(12, 3)) AS e,"
    " CAST(i AS BIGINT) * 1000000007 AS l, DATE'2024-01-28' + i AS da,"
    " TIMESTAMP'2024-01-28 12:00:00' + i * INTERVAL '7' HOUR AS ts,"
    " TIMESTAMP_NTZ'2024-02-27 00:00:00' + i * INTERVAL '11' HOUR AS nt,"
    " i * INTERVAL '5' HOUR AS iv, i * INTERVAL '1' MONTH AS ym FROM (SELECT id,"
    " IF(id % 7 = 3, NULL, CAST(id * 7919 % 23 AS INT) - 5) AS i, CAST(id % 3 AS INT) AS g,"
    " CASE id % 11 WHEN 4 THEN double('NaN') WHEN 6 THEN NULL WHEN 8 THEN double('-inf')"
    " ELSE (id * 31 % 17 - 8) / 2D END AS d, IF(id % 5 = 2, NULL, CAST(id * 13 % 29 AS INT)) AS x,"
    " CAST(id * 17 % 6 AS STRING) AS s FROM VALUES "
    + ", ".join(f"({number})" for number in range(60))
    + " AS r(id)) q",
)
_DISTANCES: Final = {
    "i": ("0", "1", "2", "5", "1.7", "2L", "100"),
    "l": ("0", "1000000007", "3000000000L", "1"),
    "d": ("0", "0.5", "1", "2.25D", "7"),
    "e": ("0", "0.05", "1", "0.125", "2.2222"),
    "da": ("0", "1", "3", "INTERVAL '2' DAY", "INTERVAL '1' MONTH", "INTERVAL 1 YEAR"),
    "ts": ("INTERVAL '7' HOUR", "INTERVAL '1 02:00:00' DAY TO SECOND", "INTERVAL 1 DAY", "INTERVAL 1 MONTH"),
    "nt": ("INTERVAL '11' HOUR", "INTERVAL '1 02:00:00' DAY TO SECOND", "INTERVAL 1 DAY", "INTERVAL 1 MONTH"),
    "iv": ("INTERVAL '5' HOUR", "INTERVAL '1 02:00:00' DAY TO SECOND", "INTERVAL 1 DAY", "INTERVAL '0' HOUR"),
    "ym": ("INTERVAL '1' MONTH", "INTERVAL 1 YEAR", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '0' MONTH"),
}
_CALLS: Final = (
    "count(*)", "count(x)", "sum(x)", "avg(x)", "min(x)", "max(s)", "sum(e)", "avg(e)", "sum(iv)", "max(ts)",
    "bit_or(x)", "min_by(id, id)", "max_by(x, id)", "min(da)", "bool_or(x > 20)", "count_if(x > 3)",
    "sum(x) FILTER (WHERE g = 1)", "count(*) FILTER (WHERE x > 9)", "sort_array(collect_list(x) OVER ?)",
    "sort_array(collect_set(x) FILTER (WHERE g < 2) OVER ?)", "try_sum(l)", "min(d)", "max(d)",
    "percentile(x, 0.3)",
)  # fmt: skip
_ORDERS: Final = ("", " ASC", " DESC", " NULLS LAST", " DESC NULLS FIRST", " DESC NULLS LAST")


def window_query(random: Random) -> str:
    """Return a query of two or three window calls, most of them over RANGE frames with a distance."""
    calls = ", ".join(_window_call(random) for _ in range(random.randint(1, 3)))
    return f"SELECT id, {calls} FROM v"


def _window_call(random: Random) -> str:
    key = random.choice(list(_DISTANCES))
    partition = random.choice(("", "PARTITION BY g ", "PARTITION BY s "))
    unit, distances = "RANGE", _DISTANCES[key]
    if random.random() < 0.1:
        unit, distances, key = "ROWS", ("0", "1", "2", "5"), "id"
    order = f"ORDER BY {key}{random.choice(_ORDERS)}"
    # Both distances of one type: Spark refuses others where it casts neither.
    start, end = random.choice(distances), random.choice(distances)
    if key in ("da", "ts", "nt"):
        end = start
    frame = f"BETWEEN {_bound(random, start, 'PRECEDING')} AND {_bound(random, end, 'FOLLOWING')}"
    call = random.choice(_CALLS)
    return (call if "OVER" in call else f"{call} OVER ?").replace("?", f"({partition}{order} {unit} {frame})")


def _bound(random: Random, distance: str, unbounded: str) -> str:
    kind = random.random()
    if kind < 0.15:
        return f"UNBOUNDED {unbounded}"
    if kind < 0.3:
        return "CURRENT ROW"
    return f"{distance} {random.choice(('PRECEDING', 'FOLLOWING', unbounded))}"
