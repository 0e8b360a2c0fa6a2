"""Spark's descriptions of its functions, as DESCRIBE FUNCTION shows them.

The file ``function_texts.jsonl`` beside this module holds the descriptions, one function a line;
``python -m tests.oracle.function_texts`` takes them from a running Spark. The file is read at the first
use.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

#: The name of the file with the descriptions.
FILE: Final = "function_texts.jsonl"


class FunctionText(msgspec.Struct, frozen=True, omit_defaults=True):
    """Spark's description of one function. ``class_name``: the function's Java class in Spark, None for
    syntax without a class. ``usage``: the forms of call and their meaning. ``extended``: arguments, examples,
    and the first version."""

    name: str
    class_name: str | None = None
    usage: str = ""
    extended: str = ""

    def lines(self, *, extended: bool = False) -> tuple[str, ...]:
        """Return the rows of DESCRIBE FUNCTION, or of DESCRIBE FUNCTION EXTENDED if ``extended``."""
        kind = () if self.class_name is None else (f"Class: {self.class_name}",)
        more = (f"Extended Usage:{self.extended}",) if extended else ()
        return (f"Function: {self.name}", *kind, f"Usage: {self.usage}", *more)

    @property
    def call(self) -> str:
        """The function's first form of call, such as ``abs(expr)``."""
        return self._first.partition(" - ")[0].strip()

    @property
    def meaning(self) -> str:
        """The meaning of the function in one line; empty if Spark gives none."""
        return self._first.partition(" - ")[2].strip()

    @property
    def _first(self) -> str:
        """The first line of the usage that isn't blank; empty if there is none."""
        return next((line.strip() for line in self.usage.splitlines() if line.strip()), "")


def function_text(name: str) -> FunctionText | None:
    """Return Spark's description of the function with this name, in lower case; None if Spark has no such
    function.

    >>> text = function_text("abs")
    >>> text.call, text.meaning
    ('abs(expr)', 'Returns the absolute value of the numeric or interval value.')
    """
    return function_texts().get(name)


@cache
def function_texts() -> Mapping[str, FunctionText]:
    """Return the descriptions of all functions of Spark, by name, in the order of names."""
    content = files("sqlfront_planner.binder.names").joinpath(FILE).read_bytes()
    found = msgspec.json.Decoder(FunctionText).decode_lines(content)
    return {text.name: text for text in found}
