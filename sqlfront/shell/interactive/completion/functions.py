"""Functions with their signature and one line of help, as Spark describes them."""

import re
from functools import cache
from typing import Final

import msgspec

from sqlfront.session import Session
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import FunctionText, function_texts

#: Characters of help at most: one line of a menu.
_LONGEST: Final = 160


class FunctionHelp(msgspec.Struct, frozen=True):
    """A function's name, its signature (empty if Spark tells none), and one line of help."""

    name: str
    signature: str
    help: str


@cache
def spark_functions() -> dict[str, FunctionHelp]:
    """Return the help of all functions of Spark by name, without those whose names are operators, such as
    ``+``."""
    return {
        name: _help_of(text) for name, text in function_texts().items() if re.fullmatch(r"[a-z_]\w*", name)
    }


def _help_of(text: FunctionText) -> FunctionHelp:
    """Return the help of a function from Spark's text about it: the signature, and the first sentence of the
    meaning.

    >>> _help_of(FunctionText("abs", usage="abs(expr) - Returns the absolute value. More."))
    FunctionHelp(name='abs', signature='abs(expr)', help='Returns the absolute value')
    """
    usage = " ".join(re.sub(r"<[^>]+>", "", text.usage).replace("`", "").split())
    signature, dash, meaning = usage.partition(" - ")
    if not dash:
        signature, meaning = "", usage
    sentence = re.split(r"\.(?=\s|$)", meaning, maxsplit=1)[0].strip()
    if len(sentence) > _LONGEST:
        sentence = sentence[: _LONGEST - 1].rsplit(" ", 1)[0] + "…"
    return FunctionHelp(text.name, signature, sentence)


@cache
def _own_functions() -> tuple[FunctionHelp, ...]:
    known = spark_functions()
    names = (name for name in function_names() if name[0].isalpha())
    return tuple(known.get(name) or FunctionHelp(name, "", "") for name in names)


def known_functions(session: Session) -> tuple[FunctionHelp, ...]:
    """Return the help of the functions that a session can call: with a Spark session all of Spark's
    functions, else those that sqlfront implements."""
    return _own_functions() if session.spark is None else tuple(spark_functions().values())
