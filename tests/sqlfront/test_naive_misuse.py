"""Misuse of public objects: the texts of errors have nouns that a user knows, no classes of the inside."""

import copy
import json
import math
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sqlfront

#: Classes that the documentation names.
KNOWN = {*sqlfront.__all__, "PreparedStatement"}
#: A name of several words, as classes have; names of one word may be nouns of a text.
CLASS_NAME = re.compile(r"\b_?[A-Z][a-z]+[A-Z]\w*")

MISUSES: dict[str, Callable[[Any, sqlfront.Connection], object]] = {
    "length": lambda it, _: len(it),
    "first": lambda it, _: it[0],
    "named": lambda it, _: it["nothing"],
    "attribute": lambda it, _: it.nothing,
    "assigned": lambda it, _: setattr(it, "nothing", 1),
    "item assigned": lambda it, _: it.__setitem__(0, 1),
    "deleted": lambda it, _: delattr(it, "nothing"),
    "called": lambda it, _: it(),
    "called with a name": lambda it, _: it(nothing=1),
    "sum": lambda it, _: it + 1,
    "sum to a text": lambda it, _: "rows: " + it,
    "comparison": lambda it, _: it < it,
    "number": lambda it, _: float(it),
    "integer": lambda it, _: int(it),
    "root": lambda it, _: math.sqrt(it),
    "joined": lambda it, _: ",".join([it]),
    "file": lambda it, _: Path(it),
    "next": lambda it, _: next(it),
    "looped": lambda it, _: list(zip(it, [1], strict=False)),
    "in": lambda it, _: 1 in it,
    "json": lambda it, _: json.dumps(it),
    "pickle": lambda it, _: pickle.dumps(it),
    "copy": lambda it, _: copy.deepcopy(it),
    "statement": lambda it, connection: connection.execute(it),
    "parameter": lambda it, connection: connection.execute("select ? as a", [it]),
    "parameters": lambda it, connection: connection.execute("select ? as a", it),
    "field": lambda it, connection: connection.session.sql("select {x} as a", x=it),
    "column of a field": lambda it, connection: connection.session.sql("select {x.a} as a", x=it),
    "list of parameters": lambda it, connection: connection.cursor().executemany("select ? as a", it),
    "view": lambda it, connection: connection.register("v", it),
    "name of a view": lambda it, connection: connection.register(it, it),
    "method with a word too many": lambda it, _: it.close(1, 2),
}
OBJECTS: dict[str, Callable[[sqlfront.Connection], object]] = {
    "session": lambda connection: connection.session,
    "connection": lambda connection: connection,
    "cursor": lambda connection: connection.cursor(),
    "result of rows": lambda connection: connection.session.sql("select 1 as a"),
    "result of a job": lambda connection: connection.session.sql("select sum(id) as a from range(100000)"),
    "result of a command": lambda connection: connection.session.sql("show tables"),
    "row": lambda connection: connection.session.sql("select 1 as a").collect()[0],
    "prepared statement": lambda connection: connection.prepare("select 1 as a"),
    "configuration": lambda connection: sqlfront.Config(),
}


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect() as opened:
        yield opened


def inner_names() -> set[str]:
    """The names of all classes of ours that are loaded, but for those that users know."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("sqlfront")]
    classes = {
        name
        for module in modules
        for name, value in list(vars(module).items())
        if isinstance(value, type) and value.__module__.startswith("sqlfront")
    }
    return classes - KNOWN


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_error_names_no_class_of_the_inside(connection: sqlfront.Connection, kind: str) -> None:
    errors = {}
    for name, misuse in MISUSES.items():
        try:
            misuse(OBJECTS[kind](connection), connection)
        except Exception as error:  # noqa: BLE001 - of all kinds
            errors[name] = str(error)
    inner = inner_names()

    assert len(errors) > len(MISUSES) / 2
    assert not {name: text for name, text in errors.items() if inner.intersection(CLASS_NAME.findall(text))}
