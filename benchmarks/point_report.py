"""Tables with the results of the point queries."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Figures by the query and the way of asking.
Measured = Mapping[tuple[str, str], Mapping[str, "Figures"]]


@dataclass(frozen=True)
class Figures:
    """Microseconds of many runs."""

    median: float
    p95: float
    p99: float
    best: float


@dataclass(frozen=True)
class Goal:
    """A goal for the median: a maximum in microseconds, a maximum share of the reference's median, and a
    minimum factor below Spark's median (None: no such goal)."""

    microseconds: float
    share: float | None = None
    spark: float | None = None


def figures(times: Sequence[float]) -> Figures:
    """The figures of some runs."""
    hundredths = statistics.quantiles(times, n=100, method="inclusive")
    return Figures(statistics.median(times), hundredths[94], hundredths[98], min(times))


def times_table(names: Sequence[str], measured: Measured, reference: str) -> str:
    """A table of median, p95, p99 and the ratio of the medians."""
    lines = [
        "| query | asked | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for (query, way), by_name in measured.items():
        against = by_name.get(reference)
        cells = [_cell(by_name.get(name), against) for name in names]
        lines.append(f"| {query} | {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(each: Figures | None, against: Figures | None) -> str:
    if each is None:
        return "-"
    text = f"{_short(each.median)} / {_short(each.p95)} / {_short(each.p99)}"
    return text if against is None or each is against else f"{text} ({_ratio(each.median / against.median)})"


def goals_table(measured: Measured, goals: Mapping[tuple[str, str], Goal], reference: str) -> str:
    """A table of sqlfront's medians beside the goals."""
    heads = ["query", "asked", "sqlfront's median us (best)", "goal", f"of {reference}'s", "goal"]
    heads += ["times under Spark's", "goal", "reached"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for asked, by_name in measured.items():
        ours, goal = by_name["sqlfront"], goals[asked]
        share = _part(ours, by_name.get(reference))
        spark = None if "spark" not in by_name else by_name["spark"].median / ours.median
        reached = (
            ours.median <= goal.microseconds
            and (goal.share is None or share is None or share <= goal.share)
            and (goal.spark is None or spark is None or spark >= goal.spark)
        )
        cells = [
            *asked,
            f"{ours.median:,.0f} ({ours.best:,.0f})",
            f"{goal.microseconds:,.0f}",
            "-" if share is None else _ratio(share),
            "-" if goal.share is None else f"{goal.share:.2f}",
            "-" if spark is None else f"{spark:,.0f}",
            "-" if goal.spark is None else f"{goal.spark:,.0f}",
            "yes" if reached else "no",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _part(ours: Figures, theirs: Figures | None) -> float | None:
    return None if theirs is None else ours.median / theirs.median


def rates_table(rates: Mapping[str, Mapping[tuple[str, int], float]], threads: Sequence[int]) -> str:
    """A table of lookups per second."""
    ways = list(dict.fromkeys(way for by_way in rates.values() for way, _ in by_way))
    heads = [f"{way}, {count} thread{'' if count == 1 else 's'}" for way in ways for count in threads]
    lines = ["| lookups per second | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for name, by_way in rates.items():
        found = [by_way.get((way, count)) for way in ways for count in threads]
        cells = ["-" if rate is None else f"{rate:,.0f}" for rate in found]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _short(microseconds: float) -> str:
    return f"{microseconds:,.0f}" if microseconds >= 10 else f"{microseconds:.1f}"


def _ratio(value: float) -> str:
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:,.0f}"
