"""The page of measurements: what the benchmarks' own notes say, with charts drawn from the same figures."""

import json
import math
import re
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Final

from docs_build.markdown import row, table

_ROOT: Final = Path(__file__).parents[1]
#: The notes of all measurements, and the figures of the small queries' picture.
NOTES: Final = _ROOT / "benchmarks" / "README.md"
LATENCY: Final = _ROOT / "docs" / "pictures" / "latency.json"
_TPCH: Final = "## TPC-H scale 1, all subjects in one run"
_AREAS: Final = "## Everyday SQL by area"
_CHART_WIDTH, _BAR = 720, 20
_PAGE: Final = """# Performance

Every figure comes from a module of `benchmarks/`, beside the named peers in the same run. Absolute times
depend on the machine and on what else it does: the ratios are what to compare. Each section says how
it was measured.

## In short

![Small queries: sqlfront, DuckDB and Spark, medians](pictures/latency.svg)

SQL text in, Python tuples out, TPC-H scale 1 in memory; microseconds of one run (`benchmarks.point_queries`),
the one that the picture shows:

{latency}
### Large queries

Large queries are not where sqlfront is fast: DuckDB and Polars need less processor time for most of TPC-H.
Wall time on two cores, in milliseconds, the geometric mean of the 22 queries:

{chart}

### Everyday SQL by area

Rows per second of processor time, as a ratio to DuckDB's with one thread, and to Spark's where DuckDB
lacks the functions (`benchmarks.areas`).
[All cases, and why some are slow](#everyday-sql-by-area-november-2026).

{areas}
The rest of this page are the notes of all measurements; a section's figures are those of its own run.

{notes}"""


def page() -> str:
    """The page, in Markdown.

    >>> "<svg" in page() and "| lookup, new text |" in page()
    True
    """
    notes = NOTES.read_text("utf-8")
    return _PAGE.format(
        latency=_latency(),
        chart=chart(geometric_means(notes)),
        areas=_areas(notes),
        notes=notes[notes.index("\n## ") + 1 :],
    )


def _latency() -> str:
    measured = json.loads(LATENCY.read_text("utf-8"))["microseconds"]
    subjects = next(iter(measured.values()))
    rows = (row(query, *(_times(times[name]) for name in subjects)) for query, times in measured.items())
    return table(("query (p50 / p95 / p99)", *subjects), rows)


def _times(times: dict[str, float]) -> str:
    return " / ".join(f"{times[name]:,.0f}" for name in ("median", "p95", "p99"))


def geometric_means(notes: str) -> dict[str, float]:
    """The wall times of TPC-H at scale 1 in milliseconds, by subject, from the table in the notes. Raises
    ValueError if the notes have no such table."""
    section = notes[notes.index(_TPCH) :]
    heads = re.search(r"^\| query \|(.*)\|$", section, re.MULTILINE)
    means = re.search(r"^\| \*\*geometric mean\*\* \|(.*)\|$", section, re.MULTILINE)
    if heads is None or means is None:
        raise ValueError(f"the notes have no table below {_TPCH!r}")
    names = [head.split()[0] for head in heads[1].split("|")]
    values = [float(cell.strip(" *").split(" / ")[0]) for cell in means[1].split("|")]
    return dict(zip(names, values, strict=True))


def _areas(notes: str) -> str:
    ratios = area_ratios(notes)
    rows = (
        row(area, str(len(found)), f"{math.exp(fmean(map(math.log, found))):.2f}", f"{min(found):.2f}")
        for area, found in ratios.items()
    )
    return table(("area", "cases", "ratio, geometric mean", "the lowest"), rows)


def area_ratios(notes: str) -> dict[str, list[float]]:
    """The ratios to the peer of the cases of each area of SQL, from the table in the notes. Raises ValueError
    if the notes have no such table."""
    section = notes[notes.index(_AREAS) :]
    section = section[: section.find("\n## ")]
    found: dict[str, list[float]] = {}
    for area, ratio in re.findall(r"^\| (\w+) \|.*\| ([0-9.]+) \|$", section, re.MULTILINE):
        found.setdefault(area, []).append(float(ratio))
    if not found:
        raise ValueError(f"the notes have no table below {_AREAS!r}")
    return found


def chart(values: dict[str, float]) -> str:
    """Horizontal bars of the values from zero, as a picture in HTML; its colours are the page's."""
    longest, left = max(values.values()), 110
    bars = []
    for at, (name, value) in enumerate(values.items()):
        top, width = at * (_BAR + 8), max(value / longest * (_CHART_WIDTH - left - 90), 1)
        colour = "var(--md-accent-fg-color)" if name == "sqlfront" else "var(--md-default-fg-color--lighter)"
        bars.append(
            f'<text x="{left - 10}" y="{top + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{top}" width="{width:.0f}" height="{_BAR}" fill="{colour}"/>'
            f'<text x="{left + width + 8:.0f}" y="{top + 15}">{value:,.0f} ms</text>'
        )
    height = len(values) * (_BAR + 8)
    title = "TPC-H scale 1: " + ", ".join(f"{name} {value:,.0f} ms" for name, value in values.items())
    return (
        f'<svg viewBox="0 0 {_CHART_WIDTH} {height}" role="img" aria-label="{escape(title)}" font-size="14"'
        f' fill="currentColor" style="max-width:100%;height:auto">{"".join(bars)}</svg>'
    )
