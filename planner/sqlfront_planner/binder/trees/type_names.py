"""The names of types in SQL: ``decimal(10, 2)``, ``array<int>``, ``interval day to second``."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, unsupported
from sqlfront_values import types
from sqlfront_values.errors import DatabaseError
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
)

_DT = exp.DType
_ATOMS: Final = {
    _DT.BOOLEAN: BOOLEAN,
    _DT.TINYINT: TINYINT,
    _DT.SMALLINT: SMALLINT,
    _DT.INT: INT,
    _DT.BIGINT: BIGINT,
    _DT.FLOAT: FLOAT,
    _DT.DOUBLE: DOUBLE,
    _DT.TEXT: STRING,
    _DT.VARCHAR: STRING,
    _DT.CHAR: STRING,
    _DT.BINARY: BINARY,
    _DT.DATE: DATE,
    _DT.TIMESTAMP: TIMESTAMP,
    _DT.TIMESTAMPTZ: TIMESTAMP,
    _DT.TIMESTAMPLTZ: TIMESTAMP,
    _DT.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    _DT.NULL: VOID,
    _DT.VARIANT: VARIANT,
}


def data_type_of(node: exp.Expr) -> pa.DataType:
    """Return the logical type that a type's name in SQL means.

    Raises ProgrammingError for a decimal out of bounds, NotSupportedError (UNSUPPORTED_DATATYPE) for an
    unknown type.
    """
    assert isinstance(node, exp.DataType)
    kind = node.this
    if isinstance(kind, exp.Interval):
        return interval_type(kind)
    atom = _ATOMS.get(kind)
    if atom is not None:
        refuse_unknown(node, frozenset({"this", "nested"} | ({"expressions"} if atom == STRING else set())))
        return atom
    refuse_unknown(node, frozenset({"this", "nested", "expressions"}))
    maker = _NESTED.get(kind)
    if maker is None:
        raise failure("UNSUPPORTED_DATATYPE", f'Unsupported data type "{node.sql("spark").upper()}".', node)
    return maker(node)


def interval_type(node: exp.Interval) -> pa.DataType:
    """Return the type that ``INTERVAL DAY``, ``INTERVAL YEAR TO MONTH``, ... name. Raises NotSupportedError
    for units that don't form a type of Spark."""
    unit = node.args.get("unit")
    if unit is None:
        raise unsupported("INTERVAL without units as a type", node)
    ends = (unit.this, unit.expression) if isinstance(unit, exp.IntervalSpan) else (unit, unit)
    first, last = (end.name.upper() for end in ends)
    kind = types.INTERVALS.get((first, last))
    if kind is None:
        raise unsupported(f"INTERVAL {first} TO {last}", node)
    return kind


def _decimal(node: exp.DataType) -> pa.DataType:
    for parameter in node.expressions:
        refuse_unknown(parameter, frozenset({"this"}))
    numbers = [int(parameter.this.this) for parameter in node.expressions]
    precision = numbers[0] if numbers else 10
    scale = numbers[1] if len(numbers) > 1 else 0
    if scale > precision:
        raise failure(
            "DECIMAL_SCALE_EXCEEDS_PRECISION",
            f"Decimal scale ({scale}) cannot be greater than precision ({precision}).",
            node,
        )
    if not 1 <= precision <= MAX_PRECISION:
        raise failure(
            "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            f"Decimal precision {precision} exceeds max precision {MAX_PRECISION}.",
            node,
        )
    return types.decimal(precision, scale)


def _time(node: exp.DataType) -> pa.DataType:
    return types.time(int(node.expressions[0].this.this)) if node.expressions else types.TIME


def _array(node: exp.DataType) -> pa.DataType:
    if not node.expressions:
        raise _incomplete(node, "an element type", "ARRAY<INT>")
    return pa.list_(data_type_of(node.expressions[0]))


def _map(node: exp.DataType) -> pa.DataType:
    if not node.expressions:
        raise _incomplete(node, "a key type and a value type", "MAP<TIMESTAMP, INT>")
    key, item = node.expressions
    return pa.map_(data_type_of(key), data_type_of(item))


def _incomplete(node: exp.DataType, missing: str, example: str) -> DatabaseError:
    """Make the error INCOMPLETE_TYPE_DEFINITION for a nested type without inner types; ``missing`` and
    ``example`` are parts of its message."""
    name = node.this.value
    message = (
        f'Incomplete complex type: The definition of "{name}" type is incomplete. You must provide '
        f'{missing}. For example: "{example}".'
    )
    return failure(f"INCOMPLETE_TYPE_DEFINITION.{name}", message, node)


def _struct(node: exp.DataType) -> pa.DataType:
    if not node.expressions:
        raise _incomplete(node, "at least one field type", "STRUCT<name STRING, phone DECIMAL(10, 0)>")
    return pa.struct([(field.this.name, data_type_of(field.args["kind"])) for field in node.expressions])


_NESTED: Final[dict[exp.DType, Callable[[exp.DataType], pa.DataType]]] = {
    _DT.DECIMAL: _decimal,
    _DT.TIME: _time,
    _DT.ARRAY: _array,
    _DT.MAP: _map,
    _DT.STRUCT: _struct,
}
