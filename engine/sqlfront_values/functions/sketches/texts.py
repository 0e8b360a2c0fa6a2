"""Bytes as values of sketches."""

from sqlfront_values.errors import NotSupportedError


def text_of(value: bytes) -> str:
    """Return the text that the bytes encode, by which the library takes them. Raises NotSupportedError for
    bytes that aren't UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise NotSupportedError("sketches of binaries that aren't UTF-8 are not supported") from None
