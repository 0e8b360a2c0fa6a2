"""``{name}`` in a text: Arrow data given as keywords, as ``spark.sql`` takes data frames."""

import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sqlfront_engine.errors import ProgrammingError

if TYPE_CHECKING:
    from sqlfront_connectors.arrow import ArrowStream

_numbers: Final = itertools.count(1)
#: A name in braces, or what must be passed over: strings, quoted names and comments.
_BRACES: Final = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|\{(\w+)\}""", re.DOTALL
)


def replace_frames(text: str, frames: "Mapping[str, ArrowStream]") -> "tuple[str, dict[str, ArrowStream]]":
    """The text with each ``{name}`` replaced by a fresh view name, and the data by view name.

    Raises ProgrammingError for a name that wasn't given.
    """
    views: dict[str, str] = {}

    def view_of(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0]
        if name not in frames:
            known = ", ".join(sorted(frames)) or "none"
            raise ProgrammingError(f"the text has {{{name}}}, but no such keyword was given; given: {known}")
        return views.setdefault(name, f"_sqlfront_frame_{next(_numbers)}")

    replaced = _BRACES.sub(view_of, text)
    return replaced, {view: frames[name] for name, view in views.items()}
