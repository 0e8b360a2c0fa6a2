"""The errors of files that can't be read or written."""

import csv
import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import OperationalError

#: Names of files that an error shows at most, so that the message stays readable.
_SHOWN: Final = 3
#: Arrow quotes the whole record behind this text.
_CSV_RECORD: Final = r"Expected \d+ columns, got \d+"
_DISK_FULL: Final = "53100"
#: The conditions of errors of reading.
FILE_MISSING: Final = "FAILED_READ_FILE.FILE_NOT_EXIST"
FILE_UNREADABLE: Final = "FAILED_READ_FILE.NO_HINT"


def file_missing(path: str) -> OperationalError:
    """Return Spark's error for a file that was removed after the listing."""
    return OperationalError(
        f"Encountered error while reading file {path}. File does not exist. "
        "It is possible the underlying files have been updated; REFRESH TABLE lists them anew.",
        condition=FILE_MISSING,
    )


def file_unreadable(path: str, error: Exception | str) -> OperationalError:
    """Return Spark's error for a malformed file. ``error``: the cause, whose message is shown without the
    file's content."""
    return OperationalError(
        f"Encountered error while reading file {path}. {without_content(error)}",
        condition=FILE_UNREADABLE,
    )


def footer_unreadable(path: str) -> OperationalError:
    """Return Spark's error for a Parquet or ORC file whose schema can't be read."""
    return OperationalError(
        f"Encountered error while reading file {path}. Could not read footer. Please ensure that the "
        "file is in either ORC or Parquet format.",
        condition="FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER",
    )


def without_content(error: Exception | str) -> str:
    """Return the message of an error, cut off before the content of the file that Arrow's parser appends to
    it.

    >>> without_content(pa.ArrowInvalid("CSV parse error: Row #2: Expected 2 columns, got 1: secret"))
    'CSV parse error: Row #2: Expected 2 columns, got 1'
    """
    text = str(error)
    found = re.search(_CSV_RECORD, text)
    return text if found is None else text[: found.end()]


def unwritable(label: str, location: str, error: Exception) -> OperationalError:
    """Return the error for a location to which rows can't be written. ``label``: what the statement writes
    to, such as ``table t``. ``error``: the cause; a full disk gets the SQLSTATE 53100."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return OperationalError(
        f"{label}: can't write to {location}: {error}", sqlstate=_DISK_FULL if full else None
    )


def foreign_files(table: str, location: str, paths: Sequence[str]) -> OperationalError:
    """Return the error for an INSERT OVERWRITE that is refused, because it would remove the files ``paths``,
    which no writer of the table has made."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    names = ", ".join(os.path.relpath(path, location) for path in paths[:_SHOWN])
    return OperationalError(
        f"INSERT OVERWRITE of table {table} would delete files that no writer of this table has made: {names}"
        f"{more} in {location}. Make the table with OPTIONS (overwriteForeignFiles 'true') if they may go."
    )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Return a context manager for reading the file at ``path``. Within its block a missing file, and errors
    of Arrow, of decoding or of the system, are raised as OperationalError with Spark's condition and the
    path."""
    try:
        yield
    except FileNotFoundError as error:
        raise file_missing(path) from error
    except (OSError, UnicodeError, csv.Error, pa.ArrowException) as error:
        raise file_unreadable(path, error) from error
