"""Paths into variants: ``$.a[0]['b c']``."""

import re
from functools import lru_cache
from typing import Final

from sqlfront_values.variants.reading import Type, Variant

#: The steps of a path: the name of a field, or the index of an element.
Path = tuple[str | int, ...]

_STEP: Final = re.compile(
    r"""\[(?P<index>[0-9]+)\]|\.(?P<name>[^.\[]+)|\['(?P<single>[^']*)'\]|\["(?P<double>[^"]*)"\]"""
)
#: Java's largest int.
_MOST: Final = 2**31 - 1


@lru_cache(maxsize=1024)
def parse_path(text: str) -> Path | None:
    """Parse a path to its steps; None if the path is malformed.

    >>> parse_path("$.a[0]['b c']"), parse_path("a")
    (('a', 0, 'b c'), None)
    """
    if not text.startswith("$"):
        return None
    steps: list[str | int] = []
    place = 1
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None or (match["index"] is not None and int(match["index"]) > _MOST):
            return None
        steps.append(int(match[1]) if match["index"] is not None else match[match.lastindex or 0])
        place = match.end()
    return tuple(steps)


def prefix(text: str, count: int) -> str:
    """Return the beginning of a path's text, with its first ``count`` steps.

    >>> prefix("$.a[0].b", 2)
    '$.a[0]'
    """
    place = 1
    for _ in range(count):
        match = _STEP.match(text, place)
        assert match is not None
        place = match.end()
    return text[:place]


def at_path(variant: Variant, path: Path) -> Variant | None:
    """Return the part of a variant at the path; None if there is none."""
    found: Variant | None = variant
    for step in path:
        assert found is not None
        kind = found.type
        if isinstance(step, str):
            found = found.field(step) if kind is Type.OBJECT else None
        else:
            found = found.element(step) if kind is Type.ARRAY else None
        if found is None:
            return None
    return found
