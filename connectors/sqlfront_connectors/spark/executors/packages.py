"""Transport of sqlfront's code to executors that lack it: a ZIP file that travels with the task.

On the executors the code needs ``pyarrow``, ``numpy``, ``msgspec`` and ``cloudpickle`` installed, nothing
else. The ZIP file has the compiled modules beside the sources, since executors don't save the modules that
they compile; an executor with another version of Python than the driver's compiles the sources. Tables that
modules read (``.jsonl``) are beside the modules.
"""

import importlib
import importlib.util
import io
import marshal
import pickle
import pkgutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from sqlfront_connectors.spark.executors import bootstrap
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark import cloudpickle
else:
    cloudpickle = lazy_module("pyspark.cloudpickle")

#: The packages in the archive.
PACKAGES: Final = ("sqlfront_values", "sqlfront_engine", "sqlfront_cluster", "sqlfront_connectors")
#: PEP 552: the flag of a compiled module that isn't compared with its source.
_UNCHECKED: Final = (1).to_bytes(4, "little")


@cache
def archive() -> bytes:
    """Return sqlfront's packages as the bytes of a ZIP file from which Python can import.

    >>> names = zipfile.ZipFile(io.BytesIO(archive())).namelist()
    >>> "sqlfront_engine/dag.py" in names and "sqlfront_engine/dag.pyc" in names
    True
    >>> [name.rpartition("/")[2] for name in names if name.endswith(".jsonl")]
    ['hyperloglog_tables.jsonl', 'zone_names.jsonl']
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for package in PACKAGES:
            for loader, path in _modules(package, None):
                source = loader.get_data(loader.path)
                header = importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source)
                file.writestr(f"{path}.py", source)
                file.writestr(f"{path}.pyc", header + marshal.dumps(loader.get_code(loader.name)))
                if path.endswith("/__init__"):
                    for table in sorted(Path(loader.path).parent.glob("*.jsonl")):
                        file.write(table, f"{path.removesuffix('__init__')}{table.name}")
    return made.getvalue()


def _modules(name: str, folders: Iterable[str] | None) -> Iterator[tuple[SourceFileLoader, str]]:
    """Yield the module ``name`` and then all its submodules, without importing any of them: each module's
    source loader, and its path in the ZIP file without the ending. ``folders``: the folders to look in, None
    = Python's import path."""
    spec = importlib.machinery.PathFinder.find_spec(name, None if folders is None else list(folders))
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    path = name.replace(".", "/")
    inside = spec.submodule_search_locations
    yield spec.loader, f"{path}/__init__" if inside is not None else path
    for found in pkgutil.iter_modules(inside or [], f"{name}."):
        yield from _modules(found.name, inside)


def on_executors(place: str, *given: object) -> Callable[[Iterable[object]], Iterator[object]]:
    """Return a function for ``mapInArrow``, ``mapPartitions`` and similar methods of PySpark. On the executor
    it calls the function named by ``place`` (``module:name``, in one of :data:`PACKAGES`) with the values
    ``given``, then the argument that Spark gives the task. The values must be picklable; the named function
    need not be."""
    _travels_by_value()
    return bootstrap.bound(archive(), place, pickle.dumps(given))


def on_barrier(place: str, *given: object) -> Callable[[Iterable[object]], Iterator[object]]:
    """Return a function for ``mapInArrow(barrier=True)`` of PySpark. In each task it calls the function named
    by ``place`` (``module:name``) with the values ``given``, which are pickled, the task's number, and the
    :func:`~sqlfront_connectors.spark.executors.bootstrap.greeting` of every task. The text that the called
    function returns is the task's only row, in the column ``outcome``."""
    _travels_by_value()
    return bootstrap.barrier_task(archive(), place, pickle.dumps(given))


@cache
def _travels_by_value() -> None:
    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    register(importlib.import_module(bootstrap.__name__))
