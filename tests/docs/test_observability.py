"""The tables of docs/observability.md are those of the code.

python -m tests.docs.test_observability     writes them into the page
"""

from __future__ import annotations

import re

from sqlfront.observability.history import COLUMNS
from sqlfront.observability.metrics.collector import METRICS
from sqlfront.observability.statement_log import FIELDS
from sqlfront.observability.tracing import part_spans, statement_spans
from sqlfront_values.types import ddl
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "observability.md"


def tables() -> dict[str, list[tuple[str, ...]]]:
    """The rows of each table, by the table's heading."""
    return {
        "| column | type | meaning |": [(f"`{name}`", ddl(kind), text) for name, kind, text in COLUMNS],
        "| field | meaning |": [(f"`{name}`", text) for name, text in FIELDS],
        "| metric | kind | labels | meaning |": [
            (f"`{name}{'_total' if kind == 'counter' else ''}`", kind, ", ".join(labels), text)
            for name, kind, labels, text in METRICS
        ],
        "| attribute of a statement | meaning |": [
            (f"`{name}`", text) for name, text in statement_spans.ATTRIBUTES
        ],
        "| attribute of a part | meaning |": [(f"`{name}`", text) for name, text in part_spans.ATTRIBUTES],
    }


def written(page: str) -> str:
    """The page with the tables of the code in the place of its own."""
    for heading, rows in tables().items():
        lines = [heading, f"|{'---|' * len(rows[0])}", *(f"| {' | '.join(cells)} |" for cells in rows)]
        made = "".join(f"{line}\n" for line in lines)
        page, count = re.subn(rf"{re.escape(heading)}\n(?:\|.*\n)*", made.replace("\\", r"\\"), page)
        assert count == 1, heading
    return page


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert written(page) == page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
