"""The removal of a job's files that are no longer needed."""

import os
from collections.abc import Collection
from contextlib import suppress

from sqlfront_engine.durable.event_store.events import Manifest


def remove_output(output: Manifest | None) -> None:
    """Remove the files of a task's output; None = nothing to remove. Missing files are ignored. Raises
    OSError if a file can't be removed."""
    for file in () if output is None else output.files:
        with suppress(FileNotFoundError):
            os.unlink(file.path)


def remove_others(folder: str, kept: Collection[str], epoch: int | None = None) -> None:
    """Remove all files in a directory except those whose paths are in ``kept``, and the directory if it is
    empty then. ``epoch``: remove only files of attempts of this epoch; None = of all. Does nothing if the
    directory doesn't exist. Raises OSError if a file can't be removed."""
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if path not in kept and (epoch is None or f"-{epoch}." in name):
                with suppress(FileNotFoundError):
                    os.unlink(path)
        if not os.listdir(folder):
            os.rmdir(folder)
