"""The statements about SQL functions as frozen structs."""

import msgspec

from sqlfront_planner.routines import RoutineParameter
from sqlfront_planner.statements.create_mode import CreateMode


class CreateFunction(msgspec.Struct, frozen=True):
    """``CREATE [OR REPLACE] [TEMPORARY] FUNCTION [IF NOT EXISTS] name (parameters) [RETURNS ...] ... RETURN
    body``. ``returns`` has one item for a type (its name is empty), the columns for ``TABLE (...)``, and no
    item without RETURNS or for RETURNS TABLE without columns. ``is_table``: RETURNS TABLE. ``body``: the text
    of the query or the expression behind RETURN."""

    name: str
    parameters: tuple[RoutineParameter, ...]
    body: str
    returns: tuple[RoutineParameter, ...] = ()
    is_table: bool = False
    temporary: bool = False
    mode: CreateMode = CreateMode.ERROR
    comment: str | None = None
    deterministic: bool = True
    data_access: str = "CONTAINS SQL"


class DropFunction(msgspec.Struct, frozen=True):
    """``DROP [TEMPORARY] FUNCTION [IF EXISTS] name``."""

    name: str
    temporary: bool = False
    if_exists: bool = False
