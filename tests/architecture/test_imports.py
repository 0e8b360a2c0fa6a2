"""The order of the packages and the circles between files, over all imports: import-linter doesn't see those
that happen on first use, and isn't asked for those of types."""

import ast
import re

import pytest

from tests.architecture.imports import circles, import_graph, modules, upward

pytestmark = pytest.mark.xdist_group("sources")  # so that one worker parses them, once
_VALUES = ("sqlfront_values",)
_ENGINE = ("sqlfront_engine", *_VALUES)
_CLUSTER = ("sqlfront_cluster", *_ENGINE)
_CONNECTORS = ("sqlfront_connectors", *_CLUSTER)
_PLANNER = ("sqlfront_planner", "sqlfront_connectors.base", *_ENGINE)
#: What each package may import; of the connectors the planner knows the contract only.
ALLOWED = {
    "sqlfront_values": _VALUES,
    "sqlfront_engine": _ENGINE,
    "sqlfront_cluster": _CLUSTER,
    "sqlfront_connectors": _CONNECTORS,
    "sqlfront_planner": _PLANNER,
    "sqlfront": ("sqlfront", "sqlfront_planner", *_CONNECTORS),
}
#: The rules' examples read tables.
EXAMPLES = ["sqlfront_planner.testing imports sqlfront_connectors.arrow"]
#: Who may name modules of PySpark or of its bridge to the JVM: to load them on first use, or to see whether
#: somebody else has loaded them.
NAME_PYSPARK = {
    "sqlfront_connectors.spark.sessions.arriving_rows",
    "sqlfront_connectors.spark.sessions.classic",
    "sqlfront_connectors.spark.executors.interrupts",
    "sqlfront_connectors.spark.executors.packages",
    "sqlfront_connectors.spark.exceptions",
    "sqlfront_connectors.spark.failures",
    "sqlfront_connectors.spark.link",
    "sqlfront_connectors.spark.listings",
    "sqlfront_connectors.spark.started_sessions",
    "sqlfront_connectors.spark.types",
    "sqlfront_connectors.spark.sessions.watch",
}
#: The name of a module of theirs, as it stands in the text of a program.
PYSPARK = re.compile(r"(pyspark|py4j)\.[\w.]+")


def test_the_order_of_the_packages_holds_for_every_import() -> None:
    assert upward(import_graph(), ALLOWED) == EXAMPLES


def test_there_is_no_circle_of_imports() -> None:
    assert circles(import_graph()) == []


def test_every_lazy_module_exists() -> None:
    unknown = [
        f"{module}: {name}"
        for module, source in modules().items()
        for node in ast.walk(source.tree)
        for name in _lazy_names(node, module)
        if name.startswith("sqlfront") and name not in modules()
    ]

    assert unknown == []


def test_functions_import_no_module_of_the_house() -> None:
    """A package declares by ``lazy_submodules`` which of its modules load on first use. Exempt: the
    connectors' registry."""
    found = [
        f"{module}: {ast.unparse(node)}"
        for module, source in modules().items()
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlfront")
    ]

    assert [place for place in found if not place.startswith("sqlfront_connectors.registry:")] == []


def _lazy_names(node: ast.AST, module: str) -> list[str]:
    match node:
        case ast.Call(func=ast.Name(id="lazy_module"), args=[ast.Constant(value=str(name))]):
            return [name]
        case ast.Call(func=ast.Name(id="lazy_submodules"), args=[_, *names]):
            return [f"{module}.{ast.literal_eval(name)}" for name in names]
    return []


def test_only_the_modules_listed_here_name_modules_of_pyspark() -> None:
    """What imports it outright, import-linter sees."""
    found = {
        name
        for name, source in modules().items()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and PYSPARK.fullmatch(str(node.value))
    }

    assert found == NAME_PYSPARK
