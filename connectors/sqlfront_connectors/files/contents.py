"""The bytes of text files, unpacked as their names say."""

from sqlfront_connectors.files.compression import decompressed, is_packed
from sqlfront_connectors.files.failures import reading
from sqlfront_engine.file_access import FileAccess

__all__ = ["content_of", "is_packed"]


def content_of(path: str, access: FileAccess) -> bytes:
    """What the file holds. NotSupportedError for kinds of compression that Spark knows and this doesn't."""
    with reading(path), access.reading(path) as file, open(file.source, "rb") as opened:
        return decompressed(path, opened.read())
