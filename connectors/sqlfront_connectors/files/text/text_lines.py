"""Lines of text files, as a source for pipelines."""

import glob
import os
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from sqlfront_engine.file_access import DENIED, FileAccess
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.user_code.sources import OpenedSource
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import DataError, OperationalError, ProgrammingError
from sqlfront_values.types import STRING

#: Lines per batch: a line has no largest size, so that batches of fewer lines than the engine's bound the
#: memory.
LINES: Final = 4096


class TextLines(OpenedSource, frozen=True, tag_field="processor", tag=True):
    """A source of the lines, without line ends, of all UTF-8 files that match ``patterns``. Each instance
    reads a part of the files, so all members have to see the same files. Raises OperationalError if no file
    matches or a file can't be read, DataError for text that is not UTF-8."""

    patterns: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"filesSource({', '.join(self.patterns)})"

    def open(self, context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        paths = sorted({path for pattern in self.patterns for path in _expand(pattern, context.files)})
        if not paths:
            raise OperationalError(f"no file matches {', '.join(self.patterns)}")
        for path in paths[context.global_index :: context.total_parallelism]:
            yield from self._read(path, context.files)

    def _read(self, path: str, access: FileAccess) -> Iterator[pa.RecordBatch]:
        lines: list[str] = []
        try:
            with access.reading(path) as file, open(file.source, encoding="utf-8") as opened:
                for line in opened:
                    lines.append(line.rstrip("\n"))
                    if len(lines) == LINES:
                        yield self._batch(lines)
                        lines = []
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not UTF-8 text: {error}") from error
        except OSError as error:
            raise OperationalError(f"{path} can't be read: {error}") from error
        yield self._batch(lines)

    def _batch(self, lines: list[str]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([from_values(lines, STRING)], names=self.schema.names)

    def describe(self) -> str:
        return f"Lines of {', '.join(self.patterns)}"


register_processor("sqlfront_connectors.files.text.text_lines:TextLines")


def _expand(pattern: str, access: FileAccess) -> list[str]:
    """Return the existing paths that match a pattern of :mod:`glob`. If only some files may be opened, access
    to the path before the first wildcard is checked first, so that nothing about forbidden paths is revealed;
    raises ProgrammingError if access is denied, or for ``..`` after a wildcard."""
    if access.is_limited:
        parts = pattern.split(os.sep)
        first = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts))
        access.check(os.sep.join(parts[:first]) or (os.sep if pattern.startswith(os.sep) else os.curdir))
        if os.pardir in parts[first:]:
            raise ProgrammingError(f"{pattern} has `..` behind a wildcard", sqlstate=DENIED)
    return glob.glob(pattern, recursive=True)


def text_lines(*patterns: str) -> TextLines:
    """Return a source of one string column, ``line``, with the lines of all files that match the patterns,
    which have the form of the module :mod:`glob`."""
    return TextLines(pa.schema([pa.field("line", STRING)]), patterns)
