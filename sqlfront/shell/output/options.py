"""Choices of a user about the output of results."""

import msgspec


class OutputOptions(msgspec.Struct, frozen=True):
    """The choices of a user about output formats. ``null``: the text that stands for a null in a column; None
    = the format's default text. JSON, Arrow and Parquet ignore it, since they write nulls as nulls. In text
    formats, nulls within arrays, maps and structs are always ``NULL``, as in Spark."""

    null: str | None = None
