"""The statements about SQL variables as frozen structs."""

import msgspec
import pyarrow as pa


class DeclareVariable(msgspec.Struct, frozen=True):
    """``DECLARE [OR REPLACE] [VARIABLE] name, ... [type] [DEFAULT expression | = expression]``. ``names`` are
    dotted; ``type`` is None if the expression decides it, ``default`` the text of the expression, None
    without one."""

    names: tuple[str, ...]
    type: pa.DataType | None = None
    default: str | None = None
    replaces: bool = False


class SetVariables(msgspec.Struct, frozen=True):
    """``SET VARIABLE name = expression | DEFAULT, ...`` or ``SET VARIABLE (name, ...) = (query)``. ``names``
    are dotted; ``values`` has the texts of the expressions. With a ``query``, its text, ``values`` is
    empty."""

    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    query: str | None = None


class DropVariable(msgspec.Struct, frozen=True):
    """``DROP TEMPORARY VARIABLE [IF EXISTS] name``."""

    name: str
    if_exists: bool = False
