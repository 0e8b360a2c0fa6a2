"""The files of a durable job: their sizes, and the removal of files that are no longer needed."""

import logging
import os
from collections.abc import Collection, Mapping
from typing import Final

from sqlfront_engine.durable.event_store.events import Manifest
from sqlfront_engine.spool.places import Located
from sqlfront_engine.storage.addresses import located, open_folder
from sqlfront_engine.storage.growing_file import final_name
from sqlfront_values.errors import OperationalError

logger: Final = logging.getLogger(__name__)


def sizes_of(folder: str) -> Mapping[str, int]:
    """Return the sizes in bytes of a job's files, by the files' names. ``folder``: the directory or URL of
    the files, which the log may spell in another way, for example by a symbolic link. Raises OperationalError
    if the files can't be listed: a file must not count as lost because the storage doesn't answer."""
    try:
        return {os.path.basename(path): size for path, size in open_folder(folder).sizes().items()}
    except OSError as error:
        raise OperationalError(f"the files of the job in {folder} can't be listed: {error}") from error


def remove_output(output: Manifest | None, places: Located = located) -> None:
    """Remove the files of a task's output; None = nothing to remove. ``places``: finds the folders of the
    files. Missing files are ignored. If a file can't be removed, log a warning: the job's end, or the next
    takeover, removes the file."""
    for file in () if output is None else output.files:
        folder, name = places(file.path)
        try:
            folder.remove_files([name])
        except OSError as error:
            logger.warning("a file of the job can't be removed: %s", error)


def remove_others(folder: str, kept: Collection[str], epoch: int | None = None) -> None:
    """Remove all files in a directory or below a URL, except those whose names are the last parts of the
    paths ``kept``. A file that is not complete yet has a temporary name, and counts as the file that it will
    become. If ``kept`` is empty, also remove the directory if it is empty then. ``epoch``: remove only files
    that attempts of this epoch have written; None = of all epochs. Does nothing if the directory doesn't
    exist. Raises OSError if a file can't be removed."""
    found, names = open_folder(folder), {os.path.basename(path) for path in kept}
    found.remove_files(
        name
        for name in found.names()
        if final_name(name) not in names and (epoch is None or f"-{epoch}." in name)
    )
    if not kept:
        found.remove_if_empty()
