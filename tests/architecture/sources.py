"""The product's source files, parsed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlfront_engine.garbage import uncollected

ROOT = Path(__file__).parent.parent.parent
PACKAGES = (
    ROOT / "sqlfront",
    ROOT / "planner" / "sqlfront_planner",
    ROOT / "connectors" / "sqlfront_connectors",
    ROOT / "engine" / "sqlfront_cluster",
    ROOT / "engine" / "sqlfront_engine",
    ROOT / "engine" / "sqlfront_values",
)


@dataclass(frozen=True)
class Source:
    """One module: its path below the project's root, its name as Python imports it, and its syntax tree."""

    path: str
    module: str
    tree: ast.Module

    def place(self, line: int) -> str:
        """`engine/sqlfront_engine/dag.py:12`."""
        return f"{self.path}:{line}"


@cache
@uncollected()
def sources() -> tuple[Source, ...]:
    """All modules of the six packages, in order of path."""
    return tuple(
        Source(
            str(path.relative_to(ROOT)),
            _module(path.relative_to(package.parent)),
            ast.parse(path.read_text(encoding="utf-8"), str(path)),
        )
        for package in PACKAGES
        for path in sorted(package.rglob("*.py"))
    )


def _module(path: Path) -> str:
    """The name of the module in a file.

    >>> _module(Path("sqlfront/shell/main.py")), _module(Path("sqlfront/__init__.py"))
    ('sqlfront.shell.main', 'sqlfront')
    """
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def public_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions and methods that a user of the module may call: no underscore in front, at any level."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name="__getattr__"):
                pass  # the one function that can't say what it gives
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not is_private(statement.name):
                yield statement
            case ast.ClassDef() if not is_private(statement.name):
                yield from public_functions(statement.body)


def is_private(name: str) -> bool:
    """Whether a name is its module's own affair: one underscore in front, and not Python's own `__name__`."""
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def runtime_imports(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Line and name of each module that importing this one imports; `if TYPE_CHECKING` doesn't count."""
    for statement in body:
        match statement:
            case ast.Import():
                yield from ((statement.lineno, alias.name) for alias in statement.names)
            case ast.ImportFrom():
                module = statement.module or ""
                yield statement.lineno, module
                yield from ((statement.lineno, f"{module}.{alias.name}") for alias in statement.names)
            case ast.If() if "TYPE_CHECKING" in ast.unparse(statement.test):
                yield from runtime_imports(statement.orelse)
            case ast.If() | ast.Try() | ast.With():
                for inner in ("body", "orelse", "finalbody"):
                    yield from runtime_imports(getattr(statement, inner, []))
            case ast.ClassDef():
                yield from runtime_imports(statement.body)
