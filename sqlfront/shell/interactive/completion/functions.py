"""Functions with their signature and one line of help, as Spark describes them."""

from functools import cache
from pathlib import Path

import msgspec

from sqlfront.session import Session
from sqlfront_planner.binder.functions.function_names import function_names


class FunctionHelp(msgspec.Struct, frozen=True):
    """A function's name, its signature (empty if Spark tells none), and one line of help."""

    name: str
    signature: str
    help: str


@cache
def spark_functions() -> dict[str, FunctionHelp]:
    """All functions of Spark by name. The file is Spark's own answers to DESCRIBE FUNCTION, written by
    ``python -m tests.oracle.function_help``."""
    text = Path(__file__).with_name("functions.txt").read_text(encoding="utf-8")
    found = (FunctionHelp(*line.split("\t")) for line in text.splitlines())
    return {function.name: function for function in found}


@cache
def _own_functions() -> tuple[FunctionHelp, ...]:
    known = spark_functions()
    names = (name for name in function_names() if name[0].isalpha())
    return tuple(known.get(name) or FunctionHelp(name, "", "") for name in names)


def known_functions(session: Session) -> tuple[FunctionHelp, ...]:
    """The functions that a session can call: beside Spark all of Spark's, else those that are built here."""
    return _own_functions() if session.spark is None else tuple(spark_functions().values())
