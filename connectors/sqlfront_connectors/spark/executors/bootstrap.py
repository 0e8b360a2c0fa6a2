"""The first code that runs in a task on an executor without sqlfront's packages. Spark pickles this code by
value, so it may use only the standard library and Spark's own modules."""

import importlib
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import cast


def bound(packages: bytes, place: str, given: bytes) -> Callable[[Iterable[object]], Iterator[object]]:
    """Return a function for Spark's tasks, which on the executor calls the function named by ``place``
    (``module:name``) and returns its result. The called function's arguments are the values of the pickled
    tuple ``given``, then the argument that Spark gives the task. ``packages``: the ZIP file of sqlfront's
    packages, for executors that lack them."""

    def task(items: Iterable[object]) -> Iterator[object]:
        return cast("Iterator[object]", load(packages, place)(*pickle.loads(given), items))

    return task


def barrier_task(packages: bytes, place: str, given: bytes) -> Callable[[Iterable[object]], Iterator[object]]:
    """Return a function for the tasks of a barrier stage, which begin together or not at all. In each task it
    calls the function named by ``place`` (``module:name``) with the values of the pickled tuple ``given``,
    the task's number, and the :func:`greeting` of every task. The text that the called function returns is
    the task's only row, in the column ``outcome``. If any task can't import that function, no task calls it,
    and the first failure is the row of all tasks. ``packages``: the ZIP file of sqlfront's packages, for
    executors that lack them."""

    def task(items: Iterable[object]) -> Iterator[object]:
        import pyarrow as pa  # noqa: PLC0415 - on the executor
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - on the executor

        for _ in items:  # unread items would disturb the next task
            pass
        context = BarrierTaskContext.get()
        greetings = [json.loads(text) for text in context.allGather(json.dumps(greeting(packages, place)))]
        failures = [each["failure"] for each in greetings if each["failure"]]
        if failures:
            outcome = failures[0]
        else:
            outcome = load(packages, place)(*pickle.loads(given), context.partitionId(), greetings)
        yield pa.RecordBatch.from_pylist([{"outcome": outcome}])

    return task


def greeting(packages: bytes, place: str) -> dict[str, str]:
    """Return a description of this task, which it sends to the other tasks of its barrier stage: ``executor``
    (equal for tasks on the same executor), ``host``, and ``failure``: the error of importing the function
    named by ``place`` (``module:name``), empty if the import succeeded. ``packages``: the ZIP file of
    sqlfront's packages, for executors that lack them."""
    host, failure = os.uname().nodename, ""
    try:
        load(packages, place)
    except ImportError as error:
        failure = f"{error} (Python {sys.version.split()[0]} at {sys.executable} on {host})"
    # Every executor has directories of its own.
    return {"executor": os.environ.get("SPARK_LOCAL_DIRS", ""), "host": host, "failure": failure}


def load(packages: bytes, place: str) -> Callable[..., object]:
    """Import and return the function named by ``place`` (``module:name``). If this process has neither
    imported the function's package nor stored the ZIP file ``packages`` before, the ZIP file is stored and
    put on the import path. Raises ImportError if the module, or a package that the module needs, is missing.
    """
    module, _, name = place.partition(":")
    root = module.partition(".")[0]
    if root not in sys.modules and not any("sqlfront-packages-" in entry for entry in sys.path):
        parent = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]  # removed with the executor
        folder = tempfile.mkdtemp(prefix="sqlfront-packages-", dir=parent or None)
        path = os.path.join(folder, "packages.zip")
        with open(path, "wb") as file:
            file.write(packages)
        sys.path.insert(0, path)
    function: Callable[..., object] = getattr(importlib.import_module(module), name)
    return function
