"""Types of SQLAlchemy as types of Spark's SQL.

Spark's STRING holds texts of any length, so that the length of ``String(30)`` is dropped; so is that of
BINARY.
"""

from collections.abc import Callable

from sqlalchemy import exc
from sqlalchemy.sql.compiler import GenericTypeCompiler

from sqlfront.literal_texts import type_text
from sqlfront.sqlalchemy.elements import AnyType, Element, Option
from sqlfront.sqlalchemy.types import INTERVAL, arrow_type, decimal_digits, is_single


def _always(text: str) -> Callable[..., str]:
    def visit(self: object, type_: AnyType, **kw: Option) -> str:
        return text

    return visit


def _by_arrow(self: object, type_: AnyType, **kw: Option) -> str:
    return type_text(arrow_type(type_))


def _decimal(self: object, type_: Element, **kw: Option) -> str:
    return "DECIMAL({}, {})".format(*decimal_digits(type_))


def _float(self: object, type_: AnyType, **kw: Option) -> str:
    return "FLOAT" if is_single(type_) else "DOUBLE"


def _datetime(self: object, type_: Element, **kw: Option) -> str:
    return "TIMESTAMP" if type_.timezone else "TIMESTAMP_NTZ"


class SqlfrontTypeCompiler(GenericTypeCompiler):
    """The compiler of SQLAlchemy's types to Spark's SQL. Each method writes the type in its name."""

    visit_TINYINT = _always("TINYINT")
    visit_VARIANT = _always("VARIANT")
    visit_INTEGER = _always("INT")
    visit_FLOAT = visit_REAL = visit_DOUBLE = visit_DOUBLE_PRECISION = _float
    visit_NUMERIC = visit_DECIMAL = _decimal
    visit_CHAR = visit_NCHAR = visit_VARCHAR = visit_NVARCHAR = visit_TEXT = _always("STRING")
    visit_CLOB = visit_NCLOB = visit_JSON = visit_uuid = visit_UUID = _always("STRING")
    visit_BINARY = visit_VARBINARY = visit_BLOB = visit_large_binary = _always("BINARY")
    visit_TIMESTAMP = visit_DATETIME = visit_datetime = _datetime
    visit_ARRAY = visit_MAP = visit_STRUCT = visit_TIME = _by_arrow

    def visit_INTERVAL(self, type_: Element, **kw: Option) -> str:
        """Return the SQL of an interval type, with its units."""
        kind = type_ if isinstance(type_, INTERVAL) else INTERVAL()
        return f"INTERVAL {kind.fields}"

    def visit_null(self, type_: AnyType, **kw: Option) -> str:
        """Raise CompileError: a column needs a type."""
        raise exc.CompileError(f"can't write the type of {type_!r}: the column has no type; give it one")
