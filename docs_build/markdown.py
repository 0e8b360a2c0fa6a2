"""Tables and code in Markdown."""

from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """The text as code in a line.

    >>> code("a"), code("`")
    ('`a`', '`` ` ``')
    """
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def row(*cells: str) -> str:
    """One row of a table; bars in cells are escaped, since they would end the cell.

    >>> print(row("a", "b|c"))
    | a | b\\|c |
    """
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table(heads: Sequence[str], rows: Iterable[str]) -> str:
    """A table of the rows that :func:`row` made, with a line behind it.

    >>> print(table(("x",), [row("1")]), end="")
    | x |
    |---|
    | 1 |
    """
    return "\n".join((row(*heads), "|" + "---|" * len(heads), *rows)) + "\n"
