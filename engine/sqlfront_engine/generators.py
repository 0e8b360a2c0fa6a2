"""The generator functions, which make several rows of one."""

from enum import Enum


class Generator(Enum):
    """The function that makes rows of each input row. The value is the function's name."""

    EXPLODE = "explode"
    """A row per element of an array, or per entry of a map (with the columns key and value)."""
    POSEXPLODE = "posexplode"
    """As EXPLODE, after a column with the element's position, from 0."""
    INLINE = "inline"
    """A row per struct of an array, with a column per field."""
    STACK = "stack"
    """A fixed number of rows, with the arguments row after row."""
    JSON_TUPLE = "json_tuple"
    """One row, with the members of a JSON object, in its text, that have the given names."""
