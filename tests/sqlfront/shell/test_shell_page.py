"""The page about the shell and the shell agree."""

import re
from pathlib import Path

from sqlfront.shell.interactive.commands.registry import COMMANDS

PAGE = Path(__file__).parents[3] / "docs" / "shell.md"


def test_the_page_names_every_command() -> None:
    told = set(re.findall(r"\\([a-z]+|[!?])", PAGE.read_text(encoding="utf-8")))

    assert COMMANDS.keys() <= told
