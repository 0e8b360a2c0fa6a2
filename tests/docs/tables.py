"""Tables in the pages of docs that are made from code.

python -m tests.docs.tables     writes them
"""

from pathlib import Path

from sqlfront.configuration.options import OPTIONS, ConnectionOption
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "connecting.md"
_BEGIN, _END = "<!-- options -->\n", "<!-- end of options -->\n"


def options_table() -> str:
    """The table of the options of a connection."""
    head = "| option | variable | value | meaning |\n|---|---|---|---|\n"
    return head + "".join(_row(option) for option in OPTIONS)


def _row(option: ConnectionOption) -> str:
    return f"| `{option.name}` | `{option.variable}` | {option.expected} | {option.meaning} |\n"


def with_table(text: str) -> str:
    """The page with the table as the code has it."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + options_table() + _END + after


def write(page: Path) -> None:
    """Write the table into the page."""
    page.write_text(with_table(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write(PAGE)
