"""How the sources look: what a linter of single files can't be told."""

import ast
import re
from pathlib import Path

import pytest

from sqlfront_values.functions.registry import AREAS
from tests.architecture.sources import PACKAGES, is_private, public_functions, runtime_imports, sources

pytestmark = pytest.mark.xdist_group("sources")  # so that one worker parses them, once
# Each costs tens to hundreds of milliseconds, and some of them import pandas by themselves.
HEAVY = (
    "pandas",
    "polars",
    "pyspark",
    "duckdb",
    "pyarrow.dataset",
    "pyarrow.acero",
    "pyarrow.parquet",
    "pyarrow.compute",
)


def test_there_are_sources_to_look_at() -> None:
    assert len(sources()) > 20


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_is_typed(package: Path) -> None:
    assert (package / "py.typed").exists()


def test_every_module_has_a_docstring() -> None:
    without = [source.path for source in sources() if not ast.get_docstring(source.tree)]

    assert without == []


#: Words that no docstring begins with: a reader doesn't know yet what such a word stands for.
STAND_INS = frozenset(
    [
        "what",
        "who",
        "whom",
        "whose",
        "which",
        "how",
        "where",
        "when",
        "that",
        "those",
        "these",
        "this",
        "it",
        "they",
        "them",
        "such",
        "whatever",
    ]
)


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    wrong = [
        f"{source.path}: {text.splitlines()[0]}"
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and (text := ast.get_docstring(node))
        and (first := re.match(r"\W*(\w+)", text))
        and first[1].lower() in STAND_INS
    ]

    assert wrong == []


def test_no_two_public_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for source in sources():
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not is_private(node.name):
                places.setdefault(node.name, []).append(source.path)

    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_nothing_is_imported_by_star() -> None:
    stars = [
        source.place(statement.lineno)
        for source in sources()
        for statement in ast.walk(source.tree)
        if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names)
    ]

    assert stars == []


def test_heavy_modules_are_imported_where_they_are_needed_only() -> None:
    at_module_level = [
        f"{source.place(line)} {module}"
        for source in sources()
        for line, module in runtime_imports(source.tree.body)
        if module.startswith(HEAVY)
    ]

    assert at_module_level == []


def test_every_module_that_registers_functions_is_an_area() -> None:
    """The registry loads its areas by name: one that is missing there would have no functions."""
    folder = "engine/sqlfront_values/functions/"
    registering = {
        source.path.removeprefix(folder).removesuffix(".py").replace("/", ".")
        for source in sources()
        if source.path.startswith(folder)
        for statement in source.tree.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id == "register"
    }

    assert registering == set(AREAS)


def test_public_signatures_name_their_types() -> None:
    """`Any` says nothing; `object` says that the function takes everything."""
    vague = [
        f"{source.place(function.lineno)} {function.name}"
        for source in sources()
        for function in public_functions(source.tree.body)
        for annotation in _annotations(function)
        if any(isinstance(part, ast.Name) and part.id == "Any" for part in ast.walk(annotation))
    ]

    assert vague == []


def _annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    annotations = [parameter.annotation for parameter in parameters if parameter is not None]
    return [annotation for annotation in [*annotations, function.returns] if annotation is not None]


#: Where pyarrow's own constructors have their place: the module that stands for them, Python functions of
#: users and of Spark, odd fields of CSV, tools of tests.
BY_PYARROW = (
    "sqlfront_values/arrow/arrays.py",
    "processors/user_code/values.py",
    "spark/expression_texts.py",
    "files/csv/values.py",
    "sqlfront_planner/testing.py",
)


def test_values_become_arrays_and_scalars_without_pandas() -> None:
    """pyarrow's ``array`` and ``scalar`` import it; those of ``sqlfront_values.arrow.arrays`` don't."""
    calls = [
        source.place(node.lineno)
        for source in sources()
        if not str(source.path).endswith(BY_PYARROW)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pa.array", "pa.scalar")
    ]

    assert calls == []


#: Copies of a container that a garbage collection may break. ``tuple(...)`` takes its iterator first and
#: allocates then, and a dictionary's items are allocated one by one: an allocation may collect garbage, whose
#: finalizers (a forgotten session's) change the container. ``list(...)`` of values or keys, and the items
#: of ``.copy()``, are taken at once.
_FRAGILE_COPIES = re.compile(r"tuple\(self\._\w+(\.(values|items)\(\))?\)|list\(self\._\w+\.items\(\)\)")
#: Modules whose containers belong to one thread and to plain data.
_PLAIN_DATA = ("sqlfront_engine.dag", "sqlfront_engine.plans.blueprint")


def test_containers_that_finalizers_change_are_copied_at_once() -> None:
    fragile = [
        f"{source.module}: {found[0]}"
        for source in sources()
        if source.module.startswith(("sqlfront_engine", "sqlfront_cluster"))
        if source.module not in _PLAIN_DATA
        for found in _FRAGILE_COPIES.finditer(ast.unparse(source.tree))
    ]

    assert fragile == []
