"""The blocks of code in a page of Markdown, run one after the other in a folder of their own.

python -m tests.docs.blocks README.md     runs a page in the current folder
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Kinds of blocks that show something and aren't run.
_SHOWN = frozenset({"", "text", "mermaid"})
#: Commands that the tests are themselves a part of, or that need the network.
_LEFT_OUT = ("make ", "pip install ")


@dataclass(frozen=True)
class Block:
    """A block of code: the language behind its first backticks, its text, and the line that it begins at."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the lines that stand below it."""

    text: str
    output: str


def pages() -> list[Path]:
    """README and all pages of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that are to be run."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in _BLOCK.finditer(text)
        if found[1] not in _SHOWN
    ]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block, those left out that can't run here. A backslash at the end of a line
    continues the command.

    >>> list(commands(Block("console", "$ echo a\\na\\n$ make test\\n", 1)))
    [Command(text='echo a', output='a\\n')]
    """
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        text, _, output = part.replace("\\\n", "\0").partition("\n")
        text = text.replace("\0", "\\\n")
        if not text.startswith(_LEFT_OUT):
            yield Command(text, output)


def run(page: Path) -> None:
    """Run the blocks in the current folder: Python's share their names. AssertionError if a command's output
    is not the text below the command."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        place = f"{page.name}:{block.line}"
        match block.language:
            case "python":
                exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
            case "console":
                for command in commands(block):
                    _check(command, place)
            case _:
                raise AssertionError(f"{place}: nobody runs blocks of {block.language}")


def _check(command: Command, place: str) -> None:
    ran = subprocess.run(command.text, check=False, shell=True, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, f"{place}: {command.text} ends with {ran.returncode}: {ran.stderr}"
    if command.output:
        assert ran.stdout == command.output, f"{place}: {command.text} gives\n{ran.stdout}"


if __name__ == "__main__":
    run(Path(sys.argv[1]).absolute())
