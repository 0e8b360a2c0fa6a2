"""Which tests carry which marks, and which command runs which marks: read from the sources, the Makefile and
pyproject.toml; nothing is imported and nothing collected."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.architecture.sources import ROOT

#: The marks that decide which command runs a test.
LANES: Final = frozenset(["spark", "cluster", "soak", "attack", "doors"])
#: Functions of `tests.sampling` that mark some of the parameters which they get ``cluster``.
SAMPLERS: Final = frozenset(["sampled", "shortened"])


class Run(NamedTuple):
    """One call of pytest: the files below ``paths`` whose marks make ``expression`` true."""

    expression: str
    paths: tuple[str, ...]

    def has(self, variant: Variant) -> bool:
        """Whether it runs a test."""
        below = any(f"{variant.path}/".startswith(f"{path.rstrip('/')}/") for path in self.paths)
        return below and _is_true(ast.parse(self.expression, mode="eval").body, variant.marks)


class Variant(NamedTuple):
    """A test with one set of marks; parameters may add some, so that a function can have several."""

    path: str
    name: str
    marks: frozenset[str]


def _is_true(expression: ast.expr, marks: frozenset[str]) -> bool:
    match expression:
        case ast.BoolOp(ast.And(), values):
            return all(_is_true(value, marks) for value in values)
        case ast.BoolOp(ast.Or(), values):
            return any(_is_true(value, marks) for value in values)
        case ast.UnaryOp(ast.Not(), operand):
            return not _is_true(operand, marks)
        case ast.Name(name):
            return name in marks
    raise ValueError(f"not an expression of marks: {ast.unparse(expression)}")


def default_run() -> Run:
    """What `make test` runs."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    return Run(options["addopts"][options["addopts"].index("-m") + 1], tuple(options["testpaths"]))


def runs_of_the_makefile() -> Iterator[Run]:
    """What the targets run by marks. A call that chooses by names as well (``-k``) doesn't run all of it."""
    for line in (ROOT / "Makefile").read_text().replace("\\\n", " ").splitlines():
        called = re.search(r"pytest (.*)", line) if line.startswith("\t") else None
        words = shlex.split(called[1]) if called else []
        if "-m" in words and "-k" not in words:
            paths = tuple(word for word in words if word.split("/")[0] == "tests")
            yield Run(words[words.index("-m") + 1], paths)


def variants() -> Iterator[Variant]:
    """All tests of all files."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT).as_posix()
        assigned = _assigned(tree)
        always = _marks(assigned["pytestmark"]) if "pytestmark" in assigned else frozenset()
        functions = [
            node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        decorators = {function.name: _decorators(function, assigned) for function in functions}
        fixtures = {
            mark
            for function, given in decorators.items()
            if not function.startswith("test_")
            for decorator in given
            for mark in _marks(decorator)
        }
        for function, given in decorators.items():
            if function.startswith("test_"):
                plain = always.union(*(_marks(each) for each in given if isinstance(each, ast.Attribute)))
                perhaps = fixtures.union(*(_marks(each) for each in given if isinstance(each, ast.Call)))
                yield Variant(name, function, plain)
                yield from (Variant(name, function, plain | {mark}) for mark in sorted(perhaps - plain))


def _assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """What the names of a module stand for."""
    found = {}
    for statement in tree.body:
        match statement:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                found[name] = value
    return found


def _decorators(
    function: ast.FunctionDef | ast.AsyncFunctionDef, assigned: dict[str, ast.expr]
) -> list[ast.expr]:
    """Those of a function, with what the names in them stand for."""

    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return assigned.get(node.id, node)

    return [Names().visit(decorator) for decorator in function.decorator_list]


def _marks(expression: ast.expr) -> frozenset[str]:
    """The deciding marks that are named anywhere in an expression."""
    found = {
        node.attr
        for node in ast.walk(expression)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
    }
    if any(isinstance(node, ast.Name) and node.id in SAMPLERS for node in ast.walk(expression)):
        found.add("cluster")
    return LANES & found
