"""The statements of the demo's SQL file, as the `sqlfront` command would run them."""

import re
from pathlib import Path

DEMO = Path(__file__).parent.parent.parent / "demo"

_COMMENT_LINE = re.compile(r"^\s*--.*\n", re.MULTILINE)


def statements() -> list[str]:
    """All statements in order, without the comment lines. The file has no `;` within a statement."""
    text = _COMMENT_LINE.sub("", (DEMO / "flights.sql").read_text(encoding="utf-8"))
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def is_query(statement: str) -> bool:
    """Whether the statement is one that Spark answers with rows of its own: no DDL, no EXPLAIN."""
    return statement.split(maxsplit=1)[0] in ("SELECT", "WITH")
