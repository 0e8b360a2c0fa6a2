"""Errors of files that can't be read."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from sqlfront_engine.errors import OperationalError


def file_missing(path: str) -> OperationalError:
    """Spark's error for a file that went away after it was listed."""
    return OperationalError(
        f"Encountered error while reading file {path}. File does not exist. "
        "It is possible the underlying files have been updated; REFRESH TABLE lists them anew.",
        condition="FAILED_READ_FILE.FILE_NOT_EXIST",
        sqlstate="KD001",
    )


def file_unreadable(path: str, error: Exception) -> OperationalError:
    """Spark's error for a file that is not what it should be."""
    return OperationalError(
        f"Encountered error while reading file {path}. {error}",
        condition="FAILED_READ_FILE.NO_HINT",
        sqlstate="KD001",
    )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """What goes wrong with the file inside becomes one of these errors."""
    try:
        yield
    except FileNotFoundError as error:
        raise file_missing(path) from error
    except (OSError, UnicodeError, csv.Error, pa.ArrowException) as error:
        raise file_unreadable(path, error) from error
