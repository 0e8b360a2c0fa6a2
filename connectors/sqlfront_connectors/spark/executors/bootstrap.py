"""What runs first on an executor, where nothing of ours is: it travels there by value, so that it uses the
standard library and Spark's own modules alone."""

import importlib
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import cast


def bound(packages: bytes, place: str, given: bytes) -> Callable[[Iterable[object]], Iterator[object]]:
    """A function for Spark's tasks: it calls the one at ``place`` (``module:name``) with the values that were
    pickled as ``given``, then with its own argument."""

    def task(items: Iterable[object]) -> Iterator[object]:
        return cast("Iterator[object]", load(packages, place)(*pickle.loads(given), items))

    return task


def barrier_task(packages: bytes, place: str, given: bytes) -> Callable[[Iterable[object]], Iterator[object]]:
    """A function for the tasks of a barrier stage, which begin together or not at all: it calls the one at
    ``place`` with the values ``given``, the task's number, and what :func:`greeting` gave in each task. What
    that returns, a text, is the task's only row. If a task has found a failure, that is the row of all."""

    def task(items: Iterable[object]) -> Iterator[object]:
        import pyarrow as pa  # noqa: PLC0415 - on the executor
        from pyspark import BarrierTaskContext  # noqa: PLC0415 - on the executor

        for _ in items:  # what isn't read would be in the way of the next task
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
    """What a task tells the others: its ``executor``, its ``host``, and the ``failure`` that keeps it from
    going on, empty if there is none."""
    host, failure = os.uname().nodename, ""
    try:
        load(packages, place)
    except ImportError as error:
        failure = f"{error} (Python {sys.version.split()[0]} at {sys.executable} on {host})"
    # Every executor has directories of its own.
    return {"executor": os.environ.get("SPARK_LOCAL_DIRS", ""), "host": host, "failure": failure}


def load(packages: bytes, place: str) -> Callable[..., object]:
    """The function at the place, from the packages that came along unless this process has them already."""
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
