"""The pictures of the README, drawn from what was measured.

    python -m benchmarks.point_queries --subjects sqlfront duckdb-1 spark --json docs/pictures/latency.json
    python -m benchmarks.pictures

``shell.svg`` shows the command's answer, ``latency.svg`` the medians of ``latency.json``: each run of a query
has new literals in its text.
"""

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
_QUERY = (
    "SELECT part, count(*) AS rows, sum(id) AS total FROM (SELECT id, id % 3 AS part FROM range(1000))"
    " GROUP BY part ORDER BY part"
)
COMMAND = ("sqlfront", "-c", _QUERY)
#: The queries of ``benchmarks.point_queries`` that are shown, by what they are.
QUERIES = {"lookup": "a lookup by key", "join": "three tables by key", "group": "groups of one customer"}
#: The subjects, with their colours.
SUBJECTS = {
    "sqlfront": ("sqlfront", "#2f6fde"),
    "duckdb-1": ("DuckDB", "#c9a200"),
    "spark": ("Spark", "#d4572b"),
}
_WIDTH = 820
_LINE = 18
_BAR = 16
#: Where bars begin, and how many decades of microseconds there are room for, from 1 us on.
_LEFT, _DECADES = 250, 6


def main() -> int:
    """Draw both pictures."""
    measured = json.loads((FOLDER / "latency.json").read_text(encoding="utf-8"))["microseconds"]
    (FOLDER / "latency.svg").write_text(latency(measured), encoding="utf-8")
    said = subprocess.run(COMMAND, capture_output=True, text=True, check=True).stdout
    (FOLDER / "shell.svg").write_text(terminal(COMMAND, said), encoding="utf-8")
    return 0


def latency(measured: dict[str, dict[str, dict[str, float]]]) -> str:
    """Horizontal bars of the medians, in microseconds on a logarithmic axis."""
    parts, top = [], 30
    for decade in range(_DECADES + 1):
        left = _LEFT + decade * (_WIDTH - _LEFT - 110) / _DECADES
        parts.append(f'<line x1="{left:.0f}" y1="20" x2="{left:.0f}" y2="100%" stroke="#8884"/>')
        parts.append(_text(left, 14, _time(10.0**decade), anchor="middle", size=11))
    for query, title in QUERIES.items():
        parts.append(_text(8, top + _BAR + 8, title, weight="bold"))
        for name, (shown, colour) in SUBJECTS.items():
            median = measured[f"{query}, new text"][name]["median"]
            length = math.log10(max(median, 1.0)) * (_WIDTH - _LEFT - 110) / _DECADES
            parts.append(_text(_LEFT - 8, top + 13, shown, anchor="end"))
            parts.append(
                f'<rect x="{_LEFT}" y="{top}" width="{length:.0f}" height="{_BAR}" rx="2" fill="{colour}"/>'
            )
            parts.append(_text(_LEFT + length + 6, top + 13, _time(median)))
            top += _BAR + 4
        top += 10
    return _svg(parts, top)


def terminal(command: Sequence[str], output: str) -> str:
    """A command and what it answers, as in a terminal."""
    typed = f'$ {command[0]} {command[1]} "{command[2]}"'
    first = typed.rfind(" ", 0, 92)
    lines = [typed[:first], f"   {typed[first:]}", *output.rstrip("\n").split("\n")]
    height = _LINE * len(lines) + 20
    parts = [f'<rect width="{_WIDTH}" height="{height}" rx="6" fill="#1b1f27"/>']
    parts += [
        _text(14, 24 + _LINE * place, line, family="monospace", colour="#d8dee9")
        for place, line in enumerate(lines)
    ]
    return _svg(parts, height)


def _time(microseconds: float) -> str:
    """Microseconds as people read them.

    >>> [_time(each) for each in (12.34, 340.0, 1000.0, 61_234.0)]
    ['12 us', '340 us', '1 ms', '61 ms']
    """
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= factor:
            return (
                f"{microseconds / factor:.3g} {unit}"
                if microseconds < 10 * factor
                else f"{microseconds / factor:.0f} {unit}"
            )
    return f"{microseconds:.0f} us"


def _text(
    left: float,
    top: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    size: int = 13,
    family: str = "sans-serif",
    colour: str = "#888",
) -> str:
    return (
        f'<text x="{left:.0f}" y="{top:.0f}" text-anchor="{anchor}" font-family="{family}" font-size="{size}"'
        f' font-weight="{weight}" fill="{colour}" xml:space="preserve">{escape(text)}</text>'
    )


def _svg(parts: Sequence[str], height: int) -> str:
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, *parts, "</svg>", ""])


if __name__ == "__main__":
    sys.exit(main())
