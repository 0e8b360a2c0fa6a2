"""Who imports whom: every import of the product's files, whenever it happens."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from tests.architecture.sources import Source, sources

#: Files by the files that they import.
Graph = Mapping[str, frozenset[str]]


@cache
def modules() -> dict[str, Source]:
    """The sources by the names of their modules."""
    return {source.module: source for source in sources()}


@cache
def import_graph() -> Graph:
    """The modules that each module imports: at its beginning, in a function, for types alone, or on first use
    (``lazy_module``, ``import_module``). A package stands for its ``__init__`` only."""
    return {name: frozenset(_imported(source)) - {name} for name, source in modules().items()}


def _imported(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names if alias.name in modules())
            case ast.ImportFrom():
                for alias in node.names:
                    for name in (f"{node.module}.{alias.name}", node.module):
                        if name in modules():
                            yield name
                            break
            case ast.Call(
                func=ast.Name(id="lazy_module" | "import_module"), args=[ast.Constant(value=str(name)), *_]
            ) if name in modules():
                yield name


def circles(graph: Graph) -> list[list[str]]:
    """The groups of modules of which each one reaches each other one (Tarjan's strongly connected
    components), each in order of name, the largest first.

    >>> circles({"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"b"})})
    [['b', 'c']]
    """
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        path.append(name)
        for other in sorted(graph[name]):
            if other not in numbers:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in path:
                lowest[name] = min(lowest[name], numbers[other])
        if lowest[name] == numbers[name]:
            start = path.index(name)
            if len(path) - start > 1:
                found.append(sorted(path[start:]))
            del path[start:]

    for name in graph:
        if name not in numbers:
            visit(name)
    return sorted(found, key=lambda circle: (-len(circle), circle))


def upward(graph: Graph, allowed: Mapping[str, Sequence[str]]) -> list[str]:
    """The imports that no package is allowed: ``allowed`` has the prefixes of names that the modules of a
    package may import."""
    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in sorted(others)
        if not f"{other}.".startswith(tuple(f"{prefix}." for prefix in allowed[name.split(".")[0]]))
    ]
