"""The cells of a notebook, run one after the other as Jupyter runs them, and what each has answered."""

import ast
import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import pandas as pd
from pyspark.sql import DataFrame

from sqlfront.spark.frame import Frame

Names = dict[str, object]


@dataclass(frozen=True)
class Answer:
    """What a cell printed, and the value of its last expression, in a form that can be compared."""

    printed: str
    value: object


def code_cells(notebook: Path) -> list[str]:
    """The texts of a notebook's code cells."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def run(cell: str, names: Names) -> Answer:
    """Run a cell with these names, to which it may add."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = _value_of(cell, names)
    return Answer(printed.getvalue(), plain(value))


def _value_of(cell: str, names: Names) -> object:
    """Run a cell; return the value of its last statement, None if that is no expression."""
    match ast.parse(cell).body:
        case [*before, ast.Expr(value=last)]:
            exec(_compiled(ast.Module(before, [])), names)
            return eval(_compiled(ast.Expression(last)), names)
        case body:
            exec(_compiled(ast.Module(body, [])), names)
            return None


def _compiled(tree: ast.Module | ast.Expression) -> CodeType:
    return compile(tree, "cell", "exec" if isinstance(tree, ast.Module) else "eval")


def plain(value: object) -> object:
    """A value in which frames are their columns, types and rows.

    >>> plain(pd.DataFrame({"a": [1.5, None]}))
    (['a'], ['float64'], '[[1.5], [nan]]')
    """
    if isinstance(value, DataFrame | Frame):
        return repr(value), [repr(row) for row in value.collect()]
    if isinstance(value, pd.DataFrame):
        return list(value.columns), [str(kind) for kind in value.dtypes], repr(value.values.tolist())
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return repr(value)
