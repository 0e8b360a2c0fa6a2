"""Names of relations as texts: parts joined by dots, with backticks around a part that needs them.

Statements hold a name as one text, as written or with more backticks. Only this module reads these texts.
"""

import re
from collections.abc import Sequence
from typing import Final

from sqlfront_values.errors import spark_error

#: The pattern of a dotted name within a statement.
WRITTEN_NAME: Final = r"(?:`(?:``|[^`])*`|\w+)(?:\.(?:`(?:``|[^`])*`|\w+))*"
_PART: Final = re.compile(r"`((?:``|[^`])*)`|[^.`]+")
_DOTTED: Final = re.compile(r"(?:(?:`(?:``|[^`])*`|[^.`]+)(?:\.|$))*(?<!\.)")
_PERMANENT: Final = re.compile(r"[A-Za-z0-9_]+")


def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a dotted name in a statement, without backticks.

    >>> name_parts("a.`b.c`.`d``e`"), name_parts("``")
    (('a', 'b.c', 'd`e'), ('',))
    """
    return tuple(
        [match[0] if match[1] is None else match[1].replace("``", "`") for match in _PART.finditer(name)]
    )


def last_part(name: str) -> str:
    """Return the last part of a dotted name, without its qualifiers and without backticks.

    >>> last_part("a.`b.c`")
    'b.c'
    """
    return name_parts(name)[-1]


def dotted(parts: Sequence[str]) -> str:
    """Join the parts of a name with dots. A part that isn't an ASCII identifier gets backticks.

    >>> dotted(("a", "b.c", "d`e", ""))
    'a.`b.c`.`d``e`.``'
    """
    return ".".join(
        part if part.isidentifier() and part.isascii() else f"`{part.replace('`', '``')}`" for part in parts
    )


def check_permanent(name: str) -> None:
    """Raise ProgrammingError if a relation of this name can't be permanent (a table or view that outlives its
    session): the last part of ``name`` may have only letters, digits and underscores. The condition is
    INVALID_SCHEMA_OR_RELATION_NAME, or INVALID_ATTRIBUTE_NAME_SYNTAX for a part with misplaced dots, as
    ``a..b``."""
    last = last_part(name)
    if _PERMANENT.fullmatch(last) is not None:
        return
    if _DOTTED.fullmatch(last) is None:
        raise spark_error(
            "INVALID_ATTRIBUTE_NAME_SYNTAX",
            f"Syntax error in the attribute name: {last}. Check that backticks appear in pairs, a quoted "
            "string is a complete name part and use a backtick only inside quoted name parts.",
        )
    raise spark_error(
        "INVALID_SCHEMA_OR_RELATION_NAME",
        f"{dotted((last,))} is not a valid name for tables/schemas. Valid names only contain alphabet "
        "characters, numbers and _.",
    )
