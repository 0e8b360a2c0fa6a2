"""The first code of a task on an executor without our packages: the code travels by value, so that it uses
only the standard library and Spark's own modules."""

import importlib
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import cast


def bound(packages: bytes, place: str, given: bytes) -> Callable[[Iterable[object]], Iterator[object]]:
    """Return a function for Spark's tasks that calls the function at ``place`` (``module:name``) with the
    values pickled as ``given``, then with the task's own argument, and returns its result. ``packages``: the
    ZIP file of our packages, for executors that lack them."""

    def task(items: Iterable[object]) -> Iterator[object]:
        return cast("Iterator[object]", load(packages, place)(*pickle.loads(given), items))

    return task


def barrier_task(packages: bytes, place: str, given: bytes) -> Callable[[Iterable[object]], Iterator[object]]:
    """Return a function for the tasks of a barrier stage, which begin together or not at all. In each task it
    calls the function at ``place`` with the values pickled as ``given``, the task's number, and the results
    of :func:`greeting` of all tasks; the text that the called function returns is the task's only row. If a
    task's greeting has a failure, nothing is called, and the failure is the row of all tasks. ``packages``:
    see :func:`bound`."""

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
    """Return a task's message to the other tasks: ``executor`` (the same text for tasks on one executor),
    ``host``, and ``failure``, the error of importing the function at ``place``, empty without error."""
    host, failure = os.uname().nodename, ""
    try:
        load(packages, place)
    except ImportError as error:
        failure = f"{error} (Python {sys.version.split()[0]} at {sys.executable} on {host})"
    # Every executor has directories of its own.
    return {"executor": os.environ.get("SPARK_LOCAL_DIRS", ""), "host": host, "failure": failure}


def load(packages: bytes, place: str) -> Callable[..., object]:
    """Return the function at ``place`` (``module:name``). If this process has neither the package nor an
    earlier copy, the ZIP file ``packages`` is stored and put on the import path. Raises ImportError if the
    module, or a package that it needs, is missing."""
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
