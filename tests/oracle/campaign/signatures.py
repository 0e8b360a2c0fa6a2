"""The types of the arguments and results of Spark's functions, read off their documented examples."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import FunctionText, function_texts
from tests.oracle.answers import Answer
from tests.oracle.function_inventory import VOLATILE, examples
from tests.oracle.subject import Subject

_CALL = re.compile(r"SELECT\s+(?P<name>\w+)\s*\(", re.IGNORECASE)
_NAME = re.compile(r"\b[a-z_]\w*\b", re.IGNORECASE)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'")
_WINDOWS: Final = frozenset(
    {"RowNumber", "Rank", "DenseRank", "PercentRank", "CumeDist", "NTile", "NthValue", "Lag", "Lead"}
)
#: Functions whose value depends on where or when, or on the order of rows, and those of sketches with
#: random parts.
_LEFT_OUT: Final = VOLATILE | {
    *("monotonically_increasing_id", "spark_partition_id", "input_file_block_length", "randstr", "uniform"),
    *("input_file_block_start", "first", "first_value", "last", "last_value", "any_value", "mode", "listagg"),
    *("string_agg", "collect_list", "collect_set", "array_agg", "max_by", "min_by", "raise_error", "window"),
    *("approx_percentile", "percentile_approx", "histogram_numeric", "kll_sketch_agg_bigint", "window_time"),
    *("kll_sketch_agg_double", "kll_sketch_agg_float", "approx_top_k", "reflect", "java_method", "grouping"),
    *("try_reflect", "grouping_id", "count_min_sketch", "assert_true", "session_window"),
}


class Kind(Enum):
    """Where a call may stand."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    WINDOW = "window"
    GENERATOR = "generator"


@dataclass(frozen=True)
class Argument:
    """One argument of an example: its type as DDL text, and its text if it is a constant."""

    type: str
    text: str | None


@dataclass(frozen=True)
class Signature:
    """One form of call. ``result``: the type as DDL text."""

    name: str
    kind: Kind
    arguments: tuple[Argument, ...]
    result: str


def signatures(subject: Subject, only: Collection[str] = ()) -> list[Signature]:
    """The forms of call of all functions that sqlfront knows, or of those in ``only``, each once, in the
    order of their names. ``subject`` tells the types."""
    known = frozenset(only or function_names()) - _LEFT_OUT
    found = (
        signature
        for name, text in sorted(function_texts().items())
        if name in known
        for example in examples(text.extended)
        if (signature := _signature(subject, text, example)) is not None
    )
    return list(dict.fromkeys(found))


def _signature(subject: Subject, text: FunctionText, example: str) -> Signature | None:
    """The form of an example that is one call; None if it is something else, or isn't answered."""
    match = _CALL.match(example)
    if match is None or match["name"].lower() != text.name:
        return None
    parts = list(split(example[match.end() :]))
    if not parts or "->" in example:
        return None
    *arguments, rest = parts
    if not (rest == "" or rest.upper().startswith("FROM ")):
        return None
    columns = _columns(rest)
    kinds = _types(subject, [*arguments, f"{text.name}({', '.join(arguments)})"], rest, _kind(text))
    if kinds is None:
        return None
    given = tuple(
        Argument(kind, None if columns & _names(argument) else argument)
        for kind, argument in zip(kinds, arguments, strict=False)
    )
    return Signature(text.name, _kind(text), given, kinds[-1])


def _kind(text: FunctionText) -> Kind:
    path = text.class_name or ""
    if path.rpartition(".")[2] in _WINDOWS:
        return Kind.WINDOW
    if ".aggregate." in path:
        return Kind.AGGREGATE
    generators = ("explode", "inline", "stack", "json_tuple", "posexplode", "variant_explode")
    return Kind.GENERATOR if text.name.startswith(generators) else Kind.SCALAR


def split(text: str) -> Iterator[str]:
    """The arguments in a text that begins behind a call's parenthesis, and what follows the call.

    >>> list(split("a, f(b, ','), [1]) FROM t"))
    ['a', "f(b, ',')", '[1]', 'FROM t']
    """
    depth, begin, quote = 0, 0, ""
    position = 0
    while position < len(text):
        letter = text[position]
        if quote:
            position += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}" and depth:
            depth -= 1
        elif letter == "," and not depth:
            yield text[begin:position].strip()
            begin = position + 1
        elif letter == ")":
            if argument := text[begin:position].strip():
                yield argument
            yield text[position + 1 :].strip()
            return
        position += 1


def _names(argument: str) -> frozenset[str]:
    return frozenset(name.lower() for name in _NAME.findall(_QUOTED.sub("", argument)))


def _columns(rest: str) -> frozenset[str]:
    """The columns that a FROM clause of an example names."""
    listed = re.search(r"\bAS\s+\w+\s*\(([^()]*)\)\s*$", rest, re.IGNORECASE)
    return frozenset(name.strip().lower() for name in listed[1].split(",")) if listed else frozenset({"col"})


def _types(subject: Subject, texts: list[str], rest: str, kind: Kind) -> list[str] | None:
    """The types of the expressions over the rows of ``rest``, the last one being the call."""
    *arguments, call = texts
    shown = [f"typeof({argument})" for argument in arguments]
    found = subject.answer(f"SELECT {', '.join(shown)} {rest}") if shown else Answer((), ((),))
    over = " OVER (ORDER BY 1)" if kind is Kind.WINDOW else ""
    result = subject.answer(f"SELECT {call}{over} {rest}")
    if not (isinstance(found, Answer) and isinstance(result, Answer) and found.rows and result.columns):
        return None
    return [*(value.strip("'") for value in found.rows[0]), result.columns[0].type]
