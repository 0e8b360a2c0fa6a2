"""The line below an answer: rows, time, lane, and how many partitions and members took part."""

from sqlfront.results.result import Result
from sqlfront_planner.lanes import Lane


def footer(
    result: Result, rows: int | None, seconds: float | None, members: int, *, whole: bool = True
) -> str:
    """Return the footer of an answer, such as ``3 rows, 1.2 ms, light, members 1 of 3``. ``rows``: the number
    of rows on the screen, None = not counted. ``seconds``: the time to show, None = no time. ``members``: the
    number of members of the session's cluster, 0 without a cluster. ``whole``: whether the rows on the screen
    are all of the result's."""
    parts = [text] if (text := _rows(result, rows, whole=whole)) else []
    if seconds is not None:
        parts.append(duration(seconds))
    lane = str(result.stats.lane)
    parts.append(lane)
    if lane in (Lane.DIRECT, Lane.LIGHT, Lane.MIXED):
        parts += _parts(result, members)
    return ", ".join(parts)


def _rows(result: Result, rows: int | None, *, whole: bool) -> str:
    affected = result.stats.affected
    if affected is not None:
        return f"{affected:,} row{'' if affected == 1 else 's'} written"
    if not len(result.schema):
        return "ok"
    if rows is None:
        return ""
    return f"{'' if whole else 'first '}{rows:,} row{'' if rows == 1 else 's'}"


def _parts(result: Result, members: int) -> list[str]:
    """Return the texts about the partitions that all scans of partitioned tables read, and about the members
    that took part; each only if there is something to tell."""
    stats, found = result.stats, []
    partitions = [scan.partitions for scan in stats.scans if scan.partitions is not None]
    if partitions:
        read, total = sum(part.read for part in partitions), sum(part.total for part in partitions)
        found.append(f"partitions {read:,} of {total:,}")
    if members:
        took_part = len(stats.members) or 1
        found.append(f"members {took_part} of {max(members, took_part)}")
    return found


def duration(seconds: float) -> str:
    """Return a time as text, in the unit that suits it.

    >>> duration(0.00123), duration(12.3), duration(125)
    ('1.2 ms', '12.30 s', '2 min 5 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
