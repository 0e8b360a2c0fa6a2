"""The types of a struct's fields, which msgspec checks in decoded data only."""

import os
from enum import Enum
from functools import cache
from typing import get_type_hints

import msgspec

from sqlfront_values.errors import ProgrammingError


def check_types(
    struct: msgspec.Struct, untyped: frozenset[str] = frozenset(), paths: frozenset[str] = frozenset()
) -> None:
    """Raise ProgrammingError if a field's value has another type than the field. The message has the value's
    type, and not the value, which may be a secret. ``untyped``: the names of fields that are not checked.
    ``paths``: the names of fields whose values may be path objects instead of texts. A whole number may stand
    for a float."""
    for name, hint in _hints(type(struct)).items():
        value = getattr(struct, name)
        if name in paths and isinstance(value, os.PathLike):
            value = os.fspath(value)
        if name not in untyped and not _is_of(value, hint):
            shown = hint.__name__ if isinstance(hint, type) else str(hint).replace("collections.abc.", "")
            raise ProgrammingError(f"{name} must be of the type {shown}, not {type(value).__name__}")


@cache
def _hints(kind: type[msgspec.Struct]) -> dict[str, object]:
    return get_type_hints(kind)


def _is_of(value: object, hint: object) -> bool:
    if isinstance(value, Enum) or (isinstance(hint, type) and issubclass(hint, Enum)):
        return hint is type(value)
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    return True
