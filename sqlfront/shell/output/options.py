"""Choices of a user about the output of results."""

import msgspec


class OutputOptions(msgspec.Struct, frozen=True):
    """The choices of a user about formats of text. ``null`` is the text of a null in a column; None stands
    for the format's own text. JSON, Arrow and Parquet have nulls of their own, and nulls within arrays, maps
    and structs are ``NULL`` always, as Spark shows them."""

    null: str | None = None
