"""Tables in the pages of docs that are made from code.

python -m tests.docs.tables     writes them
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from sqlfront.configuration.options import OPTIONS
from sqlfront.jobs.job_options import JOB_OPTIONS
from tests.docs.blocks import ROOT

_BEGIN, _END = "<!-- options -->\n", "<!-- end of options -->\n"


def connection_options() -> str:
    """The table of the options of a connection."""
    head = "| option | variable | value | meaning |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{option.name}` | `{option.variable}` | {option.expected} | {option.meaning} |\n"
        for option in OPTIONS
    )


def job_options() -> str:
    """The table of the options of CREATE JOB."""
    head = "| option | value | default | meaning |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{option.name}` | {option.expected} | {option.default} | {option.meaning} |\n"
        for option in JOB_OPTIONS
    )


#: The pages with a table, and the makers of the tables.
PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    ROOT / "docs" / "connecting.md": connection_options,
    ROOT / "docs" / "durable-jobs.md": job_options,
}


def with_table(text: str, table: str) -> str:
    """The text of a page with the table as the code has it."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + table + _END + after


def write(page: Path) -> None:
    """Write the table into a page."""
    page.write_text(with_table(page.read_text("utf-8"), PAGES[page]()), "utf-8")


if __name__ == "__main__":
    for each in PAGES:
        write(each)
