"""The types of lines that each hold a plain JSON object, inferred with the scanner of Python's standard
library.

Each type has a number, so that the type that covers two types is computed once and then looked up by the two
numbers.
"""

import json
from typing import Final, NoReturn

import msgspec

from sqlfront_values.functions.json.typed.inference import Items, Kind, exact_decimal, in_java_order, wider
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, STRING, VOID

_LOW: Final = -(2**63)
_HIGH: Final = 2**63 - 1


class _Object(msgspec.Struct, frozen=True):
    """The type of a scanned object, as the type's number."""

    number: int


class LineKinds:
    """A quick reader of the types of lines that each hold one plain JSON object. The reader remembers types,
    so that a line like an earlier one is quick."""

    def __init__(self) -> None:
        self._kinds: list[Kind] = []
        self._numbers: dict[object, int] = {}
        self._wider: dict[tuple[int, int], int] = {}
        self._void, self._boolean, self._long, self._double, self._string = (
            self._number(kind) for kind in (VOID, BOOLEAN, BIGINT, DOUBLE, STRING)
        )
        self._decode = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=_no_word).raw_decode

    def kind(self, line: str) -> Kind | None:
        """Return the type of the object in the line; None if the line isn't plain JSON, or nested too deeply:
        the caller then reads the line token by token."""
        try:
            value, end = self._decode(line)
        except (ValueError, RecursionError):
            return None
        return self._kinds[self._of(value)] if end == len(line) else None

    def _object(self, pairs: list[tuple[str, object]]) -> _Object:
        members = tuple([(name, self._of(value)) for name, value in pairs])
        number = self._numbers.get(members)
        if number is None:
            kind = in_java_order((name, self._kinds[of]) for name, of in members)
            number = self._numbers[members] = self._number(kind)
        return _Object(number)

    def _of(self, value: object) -> int:
        match value:
            case str():
                return self._string if value else self._void
            case bool():
                return self._boolean
            case int():
                return self._long if _LOW <= value <= _HIGH else self._number(exact_decimal(str(value)))
            case float():
                return self._double
            case _Object(number):
                return number
            case list():
                return self._array(value)
            case _:
                return self._void

    def _array(self, items: list[object]) -> int:
        item = self._void
        for one in items:
            item = self._covering(item, self._of(one))
        number = self._numbers.get(item)
        if number is None:
            number = self._numbers[item] = self._number(Items(self._kinds[item]))
        return number

    def _covering(self, left: int, right: int) -> int:
        if left == right:
            return left
        number = self._wider.get((left, right))
        if number is None:
            kind = wider(self._kinds[left], self._kinds[right])
            number = self._wider[left, right] = self._number(kind)
        return number

    def _number(self, kind: Kind) -> int:
        """Return the number of a type; a type that is new gets the next number."""
        key = ("kind", repr(kind))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._kinds)
            self._kinds.append(kind)
        return number


def _no_word(text: str) -> NoReturn:
    raise ValueError(text)
