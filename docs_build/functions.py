"""The page of all functions of Spark: what runs here, with types and an example, and what needs Spark."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa

from docs_build.markdown import code, row, table
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import function_text, function_texts
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.functions.registry import Kind, ScalarFunction, lookup
from sqlfront_values.functions.windows.registry import lookup_window
from sqlfront_values.types import sql_name

#: The groups of Spark's functions; ``python -m tests.oracle.function_groups`` writes the file.
GROUPS_FILE: Final = Path(__file__).with_name("function_groups.json")
#: The titles of groups whose names say too little; the others' are their names.
_TITLES: Final = {
    "agg_funcs": "Aggregate functions",
    "lambda_funcs": "Functions with lambdas",
    "misc_funcs": "Other functions",
    "xml_funcs": "XML functions",
    "json_funcs": "JSON functions",
    "csv_funcs": "CSV functions",
    "url_funcs": "URL functions",
    "st_funcs": "Geospatial functions",
}
_WITHOUT_GROUP: Final = "misc_funcs"
_INTRODUCTION: Final = """# Functions

All {all} functions and operators of Spark that `SHOW FUNCTIONS` lists. {here} run here; the others are
Spark's alone: beside a Spark session, Spark runs the statements that call them, and without one they are a
`NotSupportedError`.

Forms and meanings are Spark's own words (`DESCRIBE FUNCTION`). Types are those that the registry declares:
arguments of other types are cast by Spark's rules of coercion. Each example's answer is that of Spark, as a
Python value.
"""


def page() -> str:
    """The page, in Markdown.

    >>> "### abs" in page(), "### from_avro" in page()
    (True, False)
    """
    here = set(function_names()) & set(function_texts())
    parts = [_INTRODUCTION.format(all=len(function_texts()), here=len(here))]
    for group, names in grouped().items():
        parts.append(f"## {_title(group)}\n")
        parts += [_described(name) for name in names if name in here]
        parts.append(_elsewhere([name for name in names if name not in here]))
    return "\n".join(part for part in parts if part)


def grouped() -> dict[str, list[str]]:
    """The names of Spark's functions by the group of Spark's docs, both sorted."""
    groups: dict[str, list[str]] = {}
    for name in function_texts():
        groups.setdefault(_groups().get(name, _WITHOUT_GROUP), []).append(name)
    return dict(sorted(groups.items(), key=lambda item: _title(item[0])))


@cache
def _groups() -> dict[str, str]:
    groups: dict[str, str] = json.loads(GROUPS_FILE.read_text("utf-8"))
    return groups


def _title(group: str) -> str:
    """The heading of a group.

    >>> _title("math_funcs"), _title("predicate_funcs")
    ('Math functions', 'Predicate functions')
    """
    return _TITLES.get(group) or group.replace("_funcs", " functions").replace("_", " ").capitalize()


def _described(name: str) -> str:
    """The section of a function that runs here."""
    text = function_text(name)
    assert text is not None
    heading = name if name[0].isalpha() else code(name)
    lines = [f"### {heading}\n", f"{code(text.call)}: {_escaped(text.meaning)}\n" if text.meaning else ""]
    lines += [f"{line}\n" for line in (*_types(name), *_example(name))]
    return "\n".join(line for line in lines if line)


def _elsewhere(names: list[str]) -> str:
    """The list of functions that Spark alone has."""
    if not names:
        return ""
    rows = []
    for name in names:
        text = function_text(name)
        rows.append(row(code(name), _escaped(text.meaning if text else "")))
    return "**Only on Spark:**\n\n" + table(("function", "meaning"), rows)


def _types(name: str) -> Iterator[str]:
    """The types of a scalar function, as far as the registry declares them."""
    entry = lookup(name)
    if entry is not None:
        result = "" if callable(entry.result) else f", gives {code(sql_name(entry.result))}"
        yield f"Takes {_arguments(entry)}{result}."


def _arguments(entry: ScalarFunction) -> str:
    names = [_type(argument) for argument in entry.arguments]
    required = len(names) - entry.optional
    shown = [text if at < required else f"[{text}]" for at, text in enumerate(names)]
    return code(", ".join(shown) + (", ..." if entry.variadic else "")) if shown else "no argument"


def _type(argument: pa.DataType | Kind) -> str:
    match argument:
        case Kind.COMMON:
            return "values of a common type"
        case Kind():
            return argument.value
        case _:
            return sql_name(argument)


def _example(name: str) -> Iterable[str]:
    entry = lookup(name) or lookup_aggregate(name) or lookup_window(name)
    if entry is None or entry.example is None:
        return ()
    sql, answer = entry.example
    if name[0].isalpha() and not re.search(rf"\b{name}\b", sql, re.IGNORECASE):
        return ()  # the entry's example calls another of its names
    return (f"```text\n{sql}\n-- {answer}\n```",)


def _escaped(text: str) -> str:
    """Spark's text without what Markdown and HTML would take for their own.

    >>> _escaped("a < b * c")
    'a &lt; b \\\\* c'
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "\\\\")
    for sign in "*_[]":
        text = text.replace(sign, f"\\{sign}")
    return text
