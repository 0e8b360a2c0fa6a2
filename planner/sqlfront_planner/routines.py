"""SQL functions that users have made (CREATE FUNCTION): the catalog's entries for them."""

from typing import Final

import msgspec
import pyarrow as pa

#: The catalog and the schema of functions that aren't temporary, as Spark names them.
_HOME: Final = ("spark_catalog", "default")


class RoutineParameter(msgspec.Struct, frozen=True):
    """A parameter of a SQL function. ``default`` is the text of the DEFAULT clause's expression, ``comment``
    that of the COMMENT; None without the clause."""

    name: str
    type: pa.DataType
    default: str | None = None
    comment: str | None = None


class Routine(msgspec.Struct, frozen=True, eq=False):
    """A SQL function. ``body`` is the text behind RETURN, an expression or a query, which is bound again at
    each call.

    ``returns``: the type of a scalar function's value, None for a table function, whose ``columns`` are the
    columns of its rows. ``time_zone``: the session's time zone when the function was made, in which the
    body's TIMESTAMP literals are read. ``ansi``: whether ANSI mode was on then, which decides what the body
    computes. ``created``: when the function was made, in seconds since the epoch. ``sees`` concerns a
    temporary function: the temporary relations that the body read when the function was made, in lower case;
    any other name in the body means a permanent relation."""

    name: str
    parameters: tuple[RoutineParameter, ...]
    body: str
    returns: pa.DataType | None = None
    columns: tuple[RoutineParameter, ...] = ()
    temporary: bool = False
    comment: str | None = None
    deterministic: bool = True
    data_access: str = "CONTAINS SQL"
    time_zone: str | None = None
    ansi: bool = True
    created: float = 0.0
    sees: frozenset[str] = frozenset()

    @property
    def is_table(self) -> bool:
        """Whether the function is a table function, which is called in FROM."""
        return self.returns is None

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the dotted name by which Spark shows the function: complete for a function that isn't
        temporary."""
        return (self.name,) if self.temporary else (*_HOME, self.name)

    @property
    def required(self) -> int:
        """The number of parameters without a default."""
        return sum(each.default is None for each in self.parameters)


class RoutineLookup(msgspec.Struct, frozen=True):
    """A lookup of a function in the catalog: the dotted name, and whether temporary functions are visible."""

    parts: tuple[str, ...]
    temporary: bool


def is_builtin(qualifier: tuple[str, ...]) -> bool:
    """Return whether a qualifier names the schema of Spark's own functions.

    >>> is_builtin(("builtin",)), is_builtin(("SYSTEM", "builtin")), is_builtin(("default",)), is_builtin(())
    (True, True, False, False)
    """
    return tuple(part.lower() for part in qualifier) in (("builtin",), ("system", "builtin"))
