"""Modules that are loaded on first use keep the order of the rooms, which import-linter can't see of them."""

import re
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "sqlfront_engine": ROOT / "engine",
    "sqlfront_connectors": ROOT / "connectors",
    "sqlfront_planner": ROOT / "planner",
    "sqlfront": ROOT,
}
#: What each room may load; of the connectors the planner knows the contract only.
ALLOWED = {
    "sqlfront_engine": ("sqlfront_engine",),
    "sqlfront_connectors": ("sqlfront_connectors", "sqlfront_engine"),
    "sqlfront_planner": ("sqlfront_planner", "sqlfront_connectors.base", "sqlfront_engine"),
    "sqlfront": ("sqlfront", "sqlfront_planner", "sqlfront_connectors", "sqlfront_engine"),
}
#: Who may load PySpark or its bridge to the JVM, and only when it is first used.
LOADS_PYSPARK = {
    "connectors/sqlfront_connectors/spark/arriving.py",
    "connectors/sqlfront_connectors/spark/classic.py",
    "connectors/sqlfront_connectors/spark/executors/packages.py",
    "connectors/sqlfront_connectors/spark/failures.py",
    "connectors/sqlfront_connectors/spark/starting.py",
    "connectors/sqlfront_connectors/spark/types.py",
    "connectors/sqlfront_connectors/spark/watch.py",
}
PYSPARK = re.compile(r'^    (\w+ = lazy_module)?\("(pyspark|py4j)[\w.]*"', re.MULTILINE)
CALL = re.compile(r'^    \w+ = lazy_module\("(sqlfront[\w.]*)"\)$', re.MULTILINE)


def lazy_modules() -> list[tuple[str, str]]:
    """Room and name of every module that is declared with ``lazy_module``."""
    return [
        (room, name)
        for room, folder in FOLDERS.items()
        for path in (folder / room).rglob("*.py")
        for name in CALL.findall(path.read_text())
    ]


def test_every_lazy_module_exists() -> None:
    assert [name for _, name in lazy_modules() if find_spec(name) is None] == []


def test_lazy_modules_keep_the_order_of_the_rooms() -> None:
    found = lazy_modules()

    assert len(found) > 20
    assert [
        (room, name)
        for room, name in found
        if not any(name == allowed or name.startswith(f"{allowed}.") for allowed in ALLOWED[room])
    ] == []


def test_only_the_modules_named_here_load_pyspark() -> None:
    """What imports it outright, import-linter sees."""
    found = {
        str(path.relative_to(ROOT))
        for room, folder in FOLDERS.items()
        for path in (folder / room).rglob("*.py")
        if PYSPARK.search(path.read_text())
    }

    assert found == LOADS_PYSPARK
