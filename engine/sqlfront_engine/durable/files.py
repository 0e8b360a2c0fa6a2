"""The files of a job that nobody wants any more."""

import os
from collections.abc import Collection
from contextlib import suppress

from sqlfront_engine.durable.event_store.events import Manifest


def remove_output(output: Manifest | None) -> None:
    """Remove the files of an output, None = no files."""
    for file in () if output is None else output.files:
        with suppress(FileNotFoundError):
            os.unlink(file.path)


def remove_others(folder: str, kept: Collection[str], epoch: int | None = None) -> None:
    """Remove all files in a directory but those with the paths ``kept``, and the directory if nothing is left
    in it. ``epoch``: remove only files of attempts of this epoch. Nothing happens if there is no such
    directory."""
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if path not in kept and (epoch is None or f"-{epoch}." in name):
                with suppress(FileNotFoundError):
                    os.unlink(path)
        if not os.listdir(folder):
            os.rmdir(folder)
