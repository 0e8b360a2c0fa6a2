"""Random events, and random queries that group them by windows of time, as SQL."""

from random import Random
from typing import Final

#: Time zones of the sessions that are asked.
ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
#: The moments that events lie behind, closely enough to meet in windows: across 1970, and across the
#: changes of the clocks.
_BASES: Final = (
    "2024-01-01 00:00:00",
    "1969-12-31 23:00:00",
    "2024-03-31 00:00:00",
    "2024-10-27 00:00:00",
    "1893-04-01 00:00:00",
)
_WIDTHS: Final = (
    "1 hour",
    "30 minutes",
    "10 minutes",
    "1 day",
    "7 minutes 30 seconds",
    "90 seconds",
    "2 hours 1 millisecond",
    "1 week",
)
_GAPS: Final = (
    "5 minutes",
    "1 hour",
    "90 seconds",
    "1 day",
    "1 month",
    "1 day 1 hour",
    "10 minutes 1 microsecond",
)
_AGGREGATES: Final = (
    "count(*)",
    "sum(v)",
    "min(ts)",
    "max(v)",
    "count(DISTINCT v)",
    "avg(v)",
    "count(k)",
    "sort_array(collect_list(v))",
    "max_by(id, id)",
    "sum(v) FILTER (WHERE v > 3)",
)


def events(source: Random) -> str:
    """Return the text of VALUES with random events: an id, a key, a timestamp and a number."""
    rows = []
    for number in range(source.choice((0, 1, 3, 8, 20, 40))):
        key = source.choice(("'a'", "'b'", "'c'", "NULL"))
        base = source.choice(_BASES) if source.random() < 0.3 else _BASES[number % 2]
        seconds = source.choice((source.randrange(0, 7200), source.randrange(0, 60) * 60, 0, 300, 3600))
        micros = source.choice((0, 0, 0, 1, 999_999, 500_000))
        moment = f"TIMESTAMP'{base}' + make_dt_interval(0, 0, 0, {seconds}.{micros:06})"
        moment = "CAST(NULL AS TIMESTAMP)" if source.random() < 0.08 else moment
        value = "NULL" if source.random() < 0.1 else str(source.randrange(8))
        rows.append(f"SELECT {number} AS id, {key} AS k, {moment} AS ts, CAST({value} AS INT) AS v")
    if not rows:
        return "SELECT 1 AS id, 'a' AS k, TIMESTAMP'2024-01-01' AS ts, 1 AS v WHERE false"
    return " UNION ALL ".join(rows)


def window_query(source: Random, relation: str) -> str:
    """Return a random query over ``relation``, which has the columns of :func:`events`."""
    call, name = _call(source)
    keys = [key for key in ("k", "id % 3", "v") if source.random() < 0.35]
    picked = source.sample(_AGGREGATES, source.randrange(1, 4))
    form = source.randrange(8)
    if form == 0:
        return f"SELECT id, {call} AS w FROM {relation}"
    if form == 1:
        where = source.choice(("", " WHERE v > 2", " WHERE k = 'a'"))
        return f"SELECT DISTINCT {', '.join([*keys, call])} FROM {relation}{where}"
    if form == 2:
        shown = ", ".join([*keys, name, "count(*) AS c"])
        inner = f"SELECT {shown} FROM {relation} GROUP BY {', '.join([*keys, call])}"
        return f"SELECT window(window_time({name}), '2 hours'), sum(c) FROM ({inner}) GROUP BY 1"
    if form == 3:
        return (
            f"SELECT id, sum(v) OVER (PARTITION BY {', '.join([*keys, call])}) AS s, "
            f"{name}.end - {name}.start AS d FROM {relation}"
        )
    shown = source.choice(
        (name, f"{name}.start", f"{name}.end", call, f"{call}.start", f"duration of {name}")
    )
    if shown.startswith("duration"):
        shown = f"{name}.end - {name}.start"
    if form == 4 and name == "window":
        sets = source.choice(("ROLLUP", "CUBE"))
        return (
            f"SELECT {', '.join([*keys, shown, *picked])} FROM {relation} "
            f"GROUP BY {sets}({', '.join([*keys, call])})"
        )
    if form == 5:
        having = source.choice(
            (
                f"{name}.start > TIMESTAMP'2000-01-01'",
                "count(*) > 1",
                f"count(*) > 1 AND {name}.end IS NOT NULL",
            )
        )
        return (
            f"SELECT {', '.join([*keys, shown, *picked])} FROM {relation} "
            f"GROUP BY {', '.join([*keys, call])} HAVING {having}"
        )
    if form == 6:
        return f"SELECT {', '.join([*keys, f'{call} AS w', *picked])} FROM {relation} GROUP BY ALL"
    return f"SELECT {', '.join([*keys, shown, *picked])} FROM {relation} GROUP BY {', '.join([*keys, call])}"


def _call(source: Random) -> tuple[str, str]:
    """Return a call that makes windows, and the name of its column."""
    moment = source.choice(
        ("ts", "ts", "ts", "CAST(ts AS TIMESTAMP_NTZ)", "CAST(ts AS DATE)", "ts + INTERVAL 1 HOUR")
    )
    if source.random() < 0.4:
        gap = f"'{source.choice(_GAPS)}'"
        if source.random() < 0.4:
            gap = (
                f"CASE WHEN {source.choice(('v > 3', 'k = ' + repr('a'), 'id % 2 = 0'))} THEN {gap} "
                f"ELSE {source.choice(('NULL', repr(source.choice(_GAPS)), repr('-1 hour'), repr('x')))} END"
            )
        return f"session_window({moment}, {gap})", "session_window"
    width = source.choice(_WIDTHS)
    parts = [f"'{width}'"]
    if source.random() < 0.4:
        parts.append(source.choice(("'10 minutes'", "'7 minutes'", "'90 seconds'", f"'{width}'")))
        if source.random() < 0.5:
            parts.append(source.choice(("'1 minute'", "'-45 seconds'", "'1 microsecond'")))
    if width in ("1 day", "1 week") and len(parts) > 1:
        parts[1] = source.choice(("'12 hours'", "'1 day'"))
    return f"window({moment}, {', '.join(parts)})", "window"
