"""The lines of code of the packages at several commits: lines with a token of Python, docstrings and comments
left out::

    python -m tests.architecture.code_lines c8ec1d8 HEAD              # by package, at each commit
    python -m tests.architecture.code_lines --changes c8ec1d8..HEAD   # added less removed, by kind of commit
"""

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Final

FOLDERS: Final = ("sqlfront/", "planner/", "engine/", "connectors/")
_NO_CODE: Final = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)


def code_lines(source: str) -> int:
    """Count the lines of a source text that hold code.

    >>> code_lines('''def one():
    ...     "Return one."
    ...
    ...     return 1  # the number
    ... ''')
    2
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    held = {
        line
        for token in tokens
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            held -= set(
                range(node.lineno, node.value.end_lineno + 1 if node.value.end_lineno else node.lineno)
            )
    return len(held)


def by_package(commit: str) -> Counter[str]:
    """Count the lines of code of each package at a commit."""
    found: Counter[str] = Counter()
    for row in _git("ls-tree", "-r", commit).splitlines():
        header, path = row.split("\t")
        if _is_source(path):
            parts = path.split("/")
            found[parts[0] if parts[0] == "sqlfront" else parts[1]] += _lines_of(header.split()[2])
    return found


def by_kind(commits: str) -> Counter[str]:
    """Count the lines of code that the commits of a range added, less those that they removed, by the kind
    that each commit's subject begins with (``fix``, ``feat``, ``refactor``)."""
    found: Counter[str] = Counter()
    for row in _git("log", "--no-merges", "--format=%h %s", commits).splitlines():
        commit, subject = row.split(" ", 1)
        found[subject.split(":")[0].split("(")[0]] += _added(commit)
    return found


def _added(commit: str) -> int:
    added = 0
    for row in _git("diff-tree", "-r", "--no-renames", "--no-commit-id", commit).splitlines():
        header, path = row.split("\t")
        if _is_source(path):
            _, _, before, after, _ = header.split()
            added += _lines_of(after) - _lines_of(before)
    return added


def _is_source(path: str) -> bool:
    return path.startswith(FOLDERS) and path.endswith(".py")


@cache
def _lines_of(blob: str) -> int:
    """Count the lines of code of a file in git; a file that isn't there has the number 0 and no lines."""
    return code_lines(_git("cat-file", "blob", blob)) if blob.strip("0") else 0


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def _show(counts: Counter[str]) -> Iterable[str]:
    yield from (f"{count:>8,}  {name}" for name, count in sorted(counts.items()))
    yield f"{counts.total():>8,}  in total"


def main() -> None:
    """Print the counts that the command line asks for."""
    parser = argparse.ArgumentParser(description="count the lines of code of the packages")
    parser.add_argument("commits", nargs="+", help="commits, or with --changes a range of commits")
    parser.add_argument(
        "--changes", action="store_true", help="what a range's commits changed, by their kind"
    )
    options = parser.parse_args()
    for commits in options.commits:
        print(commits, *_show((by_kind if options.changes else by_package)(commits)), sep="\n")


if __name__ == "__main__":
    main()
