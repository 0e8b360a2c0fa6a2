"""Every processor of the house can be sent to other members."""

import gc
import importlib
import pkgutil
import types
import typing
import weakref
from collections.abc import Mapping
from enum import Enum

import msgspec
import pyarrow as pa
import pytest

import sqlfront_connectors
import sqlfront_engine
from sqlfront_cluster.codec import decode, encode
from sqlfront_connectors.registry import formats
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.own_classes import AllowedCode
from sqlfront_engine.processors.registry import processor_class, register_processor, tag_of
from sqlfront_engine.processors.sources.range import Range
from sqlfront_values.errors import InterfaceError, NotSupportedError, OperationalError
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Column,
    EngineExpr,
    Expr,
    FrameUnit,
    Literal,
    SortKey,
    SortOrder,
    WindowCall,
    WindowFrame,
)
from sqlfront_values.types import BIGINT, BOOLEAN, DATE, STRING, decimal
from sqlfront_values.user_functions import UserFunction

HOUSE = ("sqlfront_engine.", "sqlfront_connectors.", "sqlfront_planner.", "sqlfront.")
EXPRESSION = Call(BOOLEAN, "less", (Column(DATE, 3, "day"), Literal(DATE, None)))
EXAMPLES: dict[object, object] = {
    str: "name",
    int: 7,
    bool: True,
    object: "value",
    msgspec.Raw: "value",
    pa.DataType: decimal(12, 2),
    pa.Schema: pa.schema([pa.field("a", BIGINT, nullable=False), ("b", STRING)]),
    Literal: Literal(STRING, "x"),
    SortKey: SortKey(2, SortOrder.DESCENDING_NULLS_FIRST),
    AggregateCall: AggregateCall("sum", (EXPRESSION,), BIGINT, filter=EXPRESSION),
    WindowCall: WindowCall("lag", (EXPRESSION,), DATE, WindowFrame(FrameUnit.ROWS, -1, None)),
    EngineExpr: EXPRESSION,
    Expr: EXPRESSION,
    Mapping[str, str]: {"header": "true"},
    UserFunction: UserFunction(len),
    JoinKind: JoinKind.FULL,
}


def house() -> list[type[Processor]]:
    """All processors of all modules of the house, except for what is private to one."""
    for package in (sqlfront_engine, sqlfront_connectors):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found = set()
    waiting = list(Processor.__subclasses__())
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        base = getattr(getattr(kind, "open", None), "__isabstractmethod__", False)
        if kind.__module__.startswith(HOUSE) and not kind.__name__.startswith("_") and not base:
            found.add(kind)
    return sorted(found, key=lambda kind: kind.__name__)


def example(annotation: object) -> object:
    """A value of a field's type that is none of the obvious ones."""
    if annotation in EXAMPLES:
        return EXAMPLES[annotation]
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple:
        if arguments[-1] is Ellipsis:
            return (example(arguments[0]),) * 2
        return tuple(map(example, arguments))
    if typing.get_origin(annotation) is typing.Literal:
        return arguments[0]
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        present = set(arguments) - {type(None)}
        return EXPRESSION if set(typing.get_args(EngineExpr)) <= present else example(present.pop())
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return list(annotation)[-1]
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return filled(annotation)
    raise AssertionError(f"no example of {annotation}")


def filled(kind: type[msgspec.Struct]) -> msgspec.Struct:
    hints = typing.get_type_hints(kind)
    return kind(**{name: example(hints[name]) for name in kind.__struct_fields__})


def test_the_house_has_processors() -> None:
    assert len(house()) > 15
    assert "memory" in formats()  # the connectors have registered theirs


@pytest.mark.parametrize("kind", house(), ids=lambda kind: kind.__name__)
def test_a_processor_comes_back(kind: type[Processor]) -> None:
    processor = filled(kind)
    assert isinstance(processor, kind)

    assert processor_class(tag_of(processor)) is kind
    back = decode(encode(processor), kind, user_code=True)
    assert encode(back) == encode(processor)
    assert back == processor or "UserFunction" in repr(processor)  # which is equal to itself only


def test_a_processor_that_is_not_registered_is_named_by_its_import_path() -> None:
    class Unheard(Processor, frozen=True):
        pass

    tag = tag_of(Unheard())
    assert tag == f"{__name__}:{Unheard.__qualname__}"
    assert processor_class(tag, AllowedCode(user_code=True)) is Unheard
    with pytest.raises(NotSupportedError, match="Unheard doesn't run on this member"):
        processor_class(tag)


def test_two_processors_cannot_have_one_name() -> None:
    with pytest.raises(InterfaceError, match="has the name"):
        register_processor("elsewhere:Filter")


def test_a_tag_that_nobody_registered_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(OperationalError, match=r"no processor 'os\.system'.*Filter"):
        processor_class("os.system")


def test_classes_that_are_defined_again_and_again_are_not_all_kept() -> None:
    made: list[weakref.ref[type]] = []
    for _ in range(1200):
        kind = type("Again", (Range,), {}, frozen=True)
        made.append(weakref.ref(kind))
        processor = kind(0, 1, 3)
        assert decode(encode(processor), kind) == processor
    del kind, processor
    gc.collect()

    assert 0 < sum(each() is not None for each in made) < 1100
