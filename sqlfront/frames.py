"""Replacement of ``{name}`` in a statement's text by frames and values that are keyword arguments, as in
``spark.sql``."""

import itertools
import re
import string
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sqlfront_connectors.arrow import ArrowSource, is_arrow_source
from sqlfront_values.errors import ProgrammingError

if TYPE_CHECKING:
    from typing import Any

_numbers: Final = itertools.count(1)
#: A keyword, perhaps with a column of its frame: ``name.column`` or ``name[column]``.
_FIELD: Final = re.compile(r"(\w+)(?:\.(\w+)|\[(\w+)\])?")


def replace_frames(text: str, given: Mapping[str, object]) -> tuple[str, dict[str, ArrowSource]]:
    r"""Return the text with each ``{name}`` replaced, and the frames that it names, by the names of the views
    to be made of them.

    As in Spark, the text is a Python format string, within quotes, too: a brace is written ``{{``. A frame is
    replaced by a fresh view name (``{name.column}``: by the view's column), a string or number by a literal,
    None by NULL, a tuple by a list of literals for IN. Raises ProgrammingError for a name that ``given``
    doesn't have, and for values of other types, which have to be passed as ``args``.

    >>> replace_frames("SELECT {word} WHERE 2 IN {numbers}", {"word": "it's", "numbers": (1, 2)})
    ("SELECT 'it\\'s' WHERE 2 IN (1, 2)", {})
    """
    filler = _Filler()
    try:
        return filler.vformat(text, (), given), filler.views
    except ValueError as error:
        raise ProgrammingError(f"the text is not a format string: {error}") from error


class _Filler(string.Formatter):
    """A Python string formatter that writes values as SQL. ``views`` collects the frames that the text names,
    by the names of the views to be made of them."""

    def __init__(self) -> None:
        self.views: dict[str, ArrowSource] = {}
        self._names: dict[str, str] = {}

    def get_field(
        self, field_name: str, args: "Sequence[Any]", kwargs: "Mapping[str, Any]"
    ) -> "tuple[str, str]":
        """Return the SQL that replaces the field ``field_name`` (``name``, ``name.column`` or
        ``name[column]``), and the keyword ``name``. Raises ProgrammingError if ``kwargs`` has no such
        keyword, or a column is asked of a value that is no frame."""
        field = _FIELD.fullmatch(field_name)
        if field is None or field[1] not in kwargs:
            known = ", ".join(sorted(kwargs))
            raise ProgrammingError(
                f"the text has {{{field_name}}}, but no such keyword was given; given: {known}"
            )
        name, column = field[1], field[2] or field[3]
        value = kwargs[name]
        if not is_arrow_source(value):
            if column is not None:
                raise ProgrammingError(f"{{{field_name}}}: a {type(value).__name__} has no columns")
            return _literal(name, value), name
        if name not in self._names:
            self._names[name] = f"_sqlfront_frame_{next(_numbers)}"
            self.views[self._names[name]] = value
        view = self._names[name]
        return view if column is None else f"{view}.`{column}`", name


def _literal(name: str, value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if value is None:
        return "NULL"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, tuple):
        return f"({', '.join(_literal(name, each) for each in value)})"
    raise ProgrammingError(
        f"{{{name}}} is a {type(value).__name__}; braces take frames, strings, numbers and tuples, "
        f"`:{name}` with args={{{name!r}: ...}} takes the rest"
    )
