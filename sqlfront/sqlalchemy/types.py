"""The types of Spark that SQLAlchemy lacks, and the Arrow types of all types.

``TINYINT``, ``TIMESTAMP_NTZ``, ``INTERVAL``, ``ARRAY``, ``MAP``, ``STRUCT`` and ``VARIANT`` are types for
columns; all other types are SQLAlchemy's. Index operators reach into nested values: ``column[1]`` is an
array's first item (as in SQLAlchemy's ARRAY), ``column["key"]`` a map's value, and ``column["name"]`` a
struct's field."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlalchemy.sql import operators, sqltypes
from sqlalchemy.sql.expression import column
from sqlalchemy.sql.type_api import NativeForEmulated

from sqlfront.literal_texts import type_text
from sqlfront.results import variant_value
from sqlfront.sqlalchemy import values
from sqlfront.sqlalchemy.elements import AnyType, Element, Option, Processor, TypeOrClass
from sqlfront_values import types as sql_types
from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.types import (
    INTERVALS,
    MAX_PRECISION,
    MONTHS_OF,
    PRIMITIVES,
    TIMES,
    IntervalType,
    is_time,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect


#: Digits of a DECIMAL that states none. Spark's own default has no digits after the point, and would round.
DEFAULT_PRECISION: Final = MAX_PRECISION
DEFAULT_SCALE: Final = 18


#: The operators that SQLAlchemy 2.1 lets a type have: any, of which Spark refuses what it has not.
_ANY_OPERATOR: Final[Any] = getattr(getattr(operators, "OperatorClass", None), "ANY", None)


class TINYINT(sqltypes.SmallInteger):
    """Spark's TINYINT, an integer of one byte."""

    __visit_name__ = "TINYINT"


class _ArrowTyped:
    """A mix-in for types whose parameters go to the driver as Arrow scalars, so that empty and null values
    have a type, too. SQLAlchemy's cache of statements takes two such types for the same if their Arrow types
    are equal."""

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of the values."""
        raise NotImplementedError

    @property
    def _static_cache_key(self) -> Element:
        return (type(self), type_text(self.arrow))

    def bind_processor(self, dialect: "Dialect") -> Processor | None:
        """Return the function that turns a Python value into an Arrow scalar of this type."""
        return values.scalar_maker(self.arrow)


class _Naive(sqltypes.DateTime):
    """A base class of the dialect's datetime types. A datetime without a zone goes to the driver as
    TIMESTAMP_NTZ; a datetime with a zone goes unchanged."""

    def bind_processor(self, dialect: "Dialect") -> Processor | None:
        """Return the function that turns a parameter's datetime into the driver's value; None, for a type
        with a time zone, means that datetimes stay as they are."""
        return None if self.timezone else _naive


def _naive(value: object) -> object:
    if isinstance(value, datetime) and value.tzinfo is None:
        return values.arrow_scalar(value, sql_types.TIMESTAMP_NTZ)
    return value


class DATETIME(_Naive):
    """The dialect's form of ``sqlalchemy.DateTime``: TIMESTAMP with ``timezone=True``, else TIMESTAMP_NTZ."""


class TIMESTAMP(_Naive, sqltypes.TIMESTAMP):
    """The dialect's form of ``sqlalchemy.TIMESTAMP``: with ``timezone=True`` Spark's TIMESTAMP, an instant;
    else TIMESTAMP_NTZ, a date and time of day."""


class TIMESTAMP_NTZ(TIMESTAMP):  # noqa: N801 - Spark's name
    """A date and time of day without a time zone."""

    def __init__(self) -> None:
        super().__init__(timezone=False)


class TIME(sqltypes.TIME):
    """Spark's TIME, a time of day; ``precision`` is the number of digits of the seconds' fraction."""

    def __init__(self, precision: int = sql_types.TIME.precision) -> None:
        super().__init__()
        self.precision = precision


class DATE(sqltypes.Date):
    """The dialect's class for ``sqlalchemy.Date``. A datetime as a value is cut to its date."""

    def bind_processor(self, dialect: "Dialect") -> Processor | None:
        """Return the function that turns dates and datetimes into dates."""
        return _date


def _date(value: object) -> object:
    return value.date() if isinstance(value, datetime) else value


class INTERVAL(_ArrowTyped, NativeForEmulated, sqltypes._AbstractInterval):
    """Spark's interval type. ``fields`` are its units. With units of days and less, such as
    ``"DAY TO SECOND"``, values are timedeltas; with years and months, such as ``"YEAR TO MONTH"``, values are
    numbers of months (``pyarrow.MonthDayNano``, or int in parameters). Raises ProgrammingError for units that
    Spark doesn't have."""

    __visit_name__ = "INTERVAL"
    operator_classes = _ANY_OPERATOR
    native = True

    def __init__(self, fields: str = "DAY TO SECOND") -> None:
        first, _, last = fields.upper().partition(" TO ")
        kind = INTERVALS.get((first, last or first))
        if kind is None:
            known = ", ".join(each.units for each in INTERVALS.values())
            raise ProgrammingError(f"INTERVAL {fields} is no type of Spark; the units are {known}")
        self.fields = kind.units
        self._arrow = kind

    @property
    def arrow(self) -> IntervalType:
        """The Arrow type of the values."""
        return self._arrow

    @property
    def _type_affinity(self) -> type[AnyType]:
        return sqltypes.Interval

    @property
    def python_type(self) -> type:
        """The class of the Python values: ``pyarrow.MonthDayNano`` for years and months, else
        ``timedelta``."""
        return pa.MonthDayNano if self._arrow.first in MONTHS_OF else timedelta

    @classmethod
    def adapt_emulated_to_native(cls, interval: Element, **kw: Option) -> "INTERVAL":
        """Return the type that replaces ``sqlalchemy.Interval``: INTERVAL DAY TO SECOND."""
        return cls()

    def bind_processor(self, dialect: "Dialect") -> Processor | None:
        """Return the function that turns values into Arrow scalars; None for DAY TO SECOND, whose timedeltas
        the driver takes."""
        return None if self.fields == "DAY TO SECOND" else values.scalar_maker(self.arrow)


class ARRAY(_ArrowTyped, sqltypes.ARRAY):  # type: ignore[type-arg]
    """The dialect's class for ``sqlalchemy.ARRAY``. An array of arrays is ``ARRAY(ARRAY(...))``, or has
    ``dimensions``."""

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of the values."""
        kind = arrow_type(self.item_type)
        for _ in range(self.dimensions or 1):
            kind = pa.list_(kind)
        return kind

    def result_processor(self, dialect: "Dialect", coltype: object) -> Processor | None:
        """Return None: the driver's lists need no conversion."""
        return None


class MAP(_ArrowTyped, sqltypes.Indexable, sqltypes.TypeEngine):  # type: ignore[type-arg]
    """Spark's map type, whose Python values are dicts; ``column[key]`` is the value of a key."""

    __visit_name__ = "MAP"
    operator_classes = _ANY_OPERATOR

    def __init__(self, key_type: TypeOrClass, value_type: TypeOrClass) -> None:
        self.key_type: AnyType = sqltypes.to_instance(key_type)
        self.value_type: AnyType = sqltypes.to_instance(value_type)

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a map, ``map<key, value>``."""
        return pa.map_(arrow_type(self.key_type), arrow_type(self.value_type))

    @property
    def python_type(self) -> type:
        """The class of the Python values, ``dict``."""
        return dict

    class Comparator(sqltypes.Indexable.Comparator):  # type: ignore[type-arg]
        """The operators of a map's column: ``column[key]``."""

        def _setup_getitem(self, index: Element) -> tuple[Element, Element, AnyType]:
            kind = self.type
            assert isinstance(kind, MAP)
            return operators.getitem, index, kind.value_type

    comparator_factory = Comparator


class STRUCT(_ArrowTyped, sqltypes.Indexable, sqltypes.TypeEngine):  # type: ignore[type-arg]
    """Spark's struct type; ``fields`` are names and types. Values are :class:`sqlfront.Row`; a parameter is a
    mapping, or a sequence of all fields' values. ``column["name"]`` is a field.

    >>> from sqlalchemy import Integer, String
    >>> STRUCT({"id": Integer, "name": String}).arrow
    StructType(struct<id: int32, name: string>)
    """

    __visit_name__ = "STRUCT"
    operator_classes = _ANY_OPERATOR

    def __init__(self, fields: "Mapping[str, Element] | Iterable[tuple[str, Element]]") -> None:
        pairs = fields.items() if isinstance(fields, Mapping) else fields
        self.fields: tuple[tuple[str, AnyType], ...] = tuple(
            (name, sqltypes.to_instance(kind)) for name, kind in pairs
        )

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of the values."""
        return pa.struct([(name, arrow_type(kind)) for name, kind in self.fields])

    @property
    def python_type(self) -> type:
        """The class of the Python values, ``tuple``, of which :class:`sqlfront.Row` is a subclass."""
        return tuple

    def __repr__(self) -> str:
        return f"STRUCT({dict(self.fields)!r})"

    class Comparator(sqltypes.Indexable.Comparator):  # type: ignore[type-arg]
        """The operators of a struct's column: ``column["name"]``, which raises ProgrammingError for an
        unknown field."""

        def _setup_getitem(self, index: Element) -> tuple[Element, Element, AnyType]:
            struct = self.type
            assert isinstance(struct, STRUCT)
            found = [kind for name, kind in struct.fields if name == index]
            if not found:
                known = ", ".join(name for name, _ in struct.fields)
                raise ProgrammingError(f"the struct has no field {index!r}; its fields: {known}")
            # A column, not a parameter: the name is a part of the statement's text.
            return operators.getitem, column(index), found[0]

    comparator_factory = Comparator


class VARIANT(sqltypes.TypeEngine):  # type: ignore[type-arg]
    """Spark's VARIANT, whose Python values are :class:`~sqlfront.results.variant_value.VariantVal`. A
    parameter can't be a variant: ``func.parse_json(text)`` makes one."""

    __visit_name__ = "VARIANT"

    @property
    def python_type(self) -> type:
        """The class of the Python values."""
        return variant_value.VariantVal


def arrow_type(given: TypeOrClass) -> pa.DataType:
    """Return the Arrow type for a type of SQLAlchemy (``given``, an instance or a class). Raises
    NotSupportedError for a type that Spark doesn't have.

    >>> from sqlalchemy import Numeric
    >>> arrow_type(Numeric(10, 2)), arrow_type(ARRAY(TINYINT))
    (Decimal128Type(decimal128(10, 2)), ListType(list<item: int8>))
    """
    kind: AnyType = sqltypes.to_instance(given)
    if isinstance(kind, sqltypes.TypeDecorator):
        kind = kind.impl_instance if not isinstance(kind, sqltypes.Interval) else INTERVAL()
    if isinstance(kind, _ArrowTyped):
        return kind.arrow
    if isinstance(kind, sqltypes.ARRAY):
        return ARRAY(kind.item_type, dimensions=kind.dimensions).arrow
    for known, maker in _ARROW:
        if isinstance(kind, known):
            return maker(kind)
    raise NotSupportedError(f"{kind!r} is no type of a value in Spark's SQL")


def decimal_digits(kind: Element) -> tuple[int, int]:
    """Return precision and scale of the DECIMAL for a numeric type of SQLAlchemy. Without a precision they
    are 38 and, unless the type has a scale, 18."""
    if kind.precision is None:
        scale = DEFAULT_SCALE if kind.scale is None else kind.scale
        return DEFAULT_PRECISION, scale
    return kind.precision, kind.scale or 0


def is_single(kind: AnyType) -> bool:
    """Return whether a type of SQLAlchemy is Spark's FLOAT, of four bytes: REAL, or FLOAT with a precision of
    at most 24 bits. Other floats are DOUBLE."""
    precision = getattr(kind, "precision", None)
    return isinstance(kind, sqltypes.REAL) or (
        type(kind).__name__ in ("FLOAT", "Float") and precision is not None and precision <= _SINGLE_BITS
    )


#: Bits of the fraction of a FLOAT of four bytes.
_SINGLE_BITS: Final = 24


#: Arrow types by class of SQLAlchemy; the first class that fits counts.
_ARROW: Final[tuple[tuple[Any, Callable[[Any], pa.DataType]], ...]] = (
    (sqltypes.Boolean, lambda _: sql_types.BOOLEAN),
    (TINYINT, lambda _: sql_types.TINYINT),
    (sqltypes.SmallInteger, lambda _: sql_types.SMALLINT),
    (sqltypes.BigInteger, lambda _: sql_types.BIGINT),
    (sqltypes.Integer, lambda _: sql_types.INT),
    (sqltypes.Float, lambda kind: sql_types.FLOAT if is_single(kind) else sql_types.DOUBLE),
    (sqltypes.Numeric, lambda kind: sql_types.decimal(*decimal_digits(kind))),
    (sqltypes.String, lambda _: sql_types.STRING),
    (sqltypes._Binary, lambda _: sql_types.BINARY),
    (sqltypes.DateTime, lambda kind: sql_types.TIMESTAMP if kind.timezone else sql_types.TIMESTAMP_NTZ),
    (sqltypes.Date, lambda _: sql_types.DATE),
    (TIME, lambda kind: sql_types.time(kind.precision)),
    (sqltypes.Time, lambda _: sql_types.TIME),
    (sqltypes.NullType, lambda _: sql_types.VOID),
    (VARIANT, lambda _: sql_types.VARIANT),
)


def column_type(kind: pa.DataType) -> AnyType:
    """Return the type of SQLAlchemy for a logical Arrow type, as reflection shows it.

    >>> column_type(pa.decimal128(12, 2)), column_type(pa.list_(pa.int32()))
    (DECIMAL(precision=12, scale=2), ARRAY(INTEGER()))
    """
    if pa.types.is_decimal(kind):
        return sqltypes.DECIMAL(kind.precision, kind.scale)
    if isinstance(kind, IntervalType):
        return INTERVAL(kind.units)
    if pa.types.is_list(kind):
        return ARRAY(column_type(kind.value_type))
    if pa.types.is_map(kind):
        return MAP(column_type(kind.key_type), column_type(kind.item_type))
    if pa.types.is_struct(kind):
        return STRUCT([(field.name, column_type(field.type)) for field in kind])
    if is_time(kind):
        return TIME(kind.precision)
    return _COLUMNS[kind]()


#: DOUBLE is new in SQLAlchemy 2.0.
_DOUBLE: Final[Any] = getattr(sqltypes, "DOUBLE", sqltypes.FLOAT)
_COLUMNS: Final[dict[pa.DataType, Callable[[], AnyType]]] = {
    sql_types.VOID: sqltypes.NullType,
    sql_types.BOOLEAN: sqltypes.BOOLEAN,
    sql_types.TINYINT: TINYINT,
    sql_types.SMALLINT: sqltypes.SMALLINT,
    sql_types.INT: sqltypes.INTEGER,
    sql_types.BIGINT: sqltypes.BIGINT,
    sql_types.FLOAT: sqltypes.REAL,
    sql_types.DOUBLE: _DOUBLE,
    sql_types.STRING: sqltypes.String,
    sql_types.BINARY: sqltypes.LargeBinary,
    sql_types.DATE: sqltypes.DATE,
    sql_types.TIMESTAMP: lambda: TIMESTAMP(timezone=True),
    sql_types.TIMESTAMP_NTZ: TIMESTAMP_NTZ,
    sql_types.VARIANT: VARIANT,
}
assert set(_COLUMNS) | set(INTERVALS.values()) | set(TIMES) == set(PRIMITIVES)
