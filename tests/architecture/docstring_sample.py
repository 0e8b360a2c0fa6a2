"""Docstrings drawn at random from the packages, each as a newcomer meets it: with the file, the name and the
signature, and nothing else. A reader then says which of them are clear at first reading::

    python -m tests.architecture.docstring_sample --count 30 --seed 1
"""

import argparse
import ast
import random
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.code_lines import FOLDERS


def documented(folder: Path) -> Iterator[str]:
    """Yield each public class and function with a docstring: its place, its signature and its docstring; of a
    class the fields, too."""
    for path in sorted(path for part in FOLDERS for path in folder.glob(f"{part}**/*.py")):
        source = path.read_text()
        for name, node in _definitions(ast.parse(source), ""):
            text = "\n".join(source.split("\n")[_first_line(node) - 1 : node.body[0].end_lineno])
            yield "\n".join((f"=== {path.relative_to(folder)}:{node.lineno} {name}", text, *_fields(node)))


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            name = f"{prefix}{child.name}"
            if ast.get_docstring(child) and not child.name.startswith("_"):
                yield name, child
            yield from _definitions(child, f"{name}.")
        else:
            yield from _definitions(child, prefix)


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _fields(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    for part in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(part, ast.AnnAssign):
            yield f"    {ast.unparse(part)}"
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            yield f"    __init__({ast.unparse(part.args)})"


def main() -> None:
    """Print the docstrings that the command line asks for."""
    parser = argparse.ArgumentParser(description="draw docstrings at random")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    found = list(documented(Path(__file__).parents[2]))
    print(f"{options.count} of {len(found):,} docstrings, seed {options.seed}")
    for text in random.Random(options.seed).sample(found, options.count):
        print("", text, sep="\n")


if __name__ == "__main__":
    main()
