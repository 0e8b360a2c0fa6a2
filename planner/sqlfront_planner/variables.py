"""SQL variables of a session (DECLARE), as the planner sees them: names and types, in a fixed order."""

import msgspec
import pyarrow as pa


class SessionVariable(msgspec.Struct, frozen=True):
    """A variable: its name as declared, its type, and the text of its DEFAULT expression (None: NULL)."""

    name: str
    type: pa.DataType
    default: str | None = None


class VariableSet:
    """The variables that a session has, without their values. A plan is made for one set, which is compared
    by identity: a session keeps its set as long as names and types stay the same."""

    __slots__ = ("_places", "variables")

    def __init__(self, variables: tuple[SessionVariable, ...]) -> None:
        self.variables = variables
        self._places = {variable.name.lower(): place for place, variable in enumerate(variables)}

    def __len__(self) -> int:
        return len(self.variables)

    def place(self, name: str) -> int | None:
        """Return the position of the variable ``name``, in any case; None if there is no such variable."""
        return self._places.get(name.lower())


def unqualified(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return a dotted name without the qualifier of variables, if it has one: the name of a variable, and the
    names of fields of its value.

    >>> unqualified(("session", "x")), unqualified(("system", "session", "x", "f")), unqualified(("x", "f"))
    (('x',), ('x', 'f'), ('x', 'f'))
    """
    lowered = [part.lower() for part in parts[:2]]
    if len(parts) > 1 and lowered[0] == "session":
        return parts[1:]
    return parts[2:] if len(parts) > 2 and lowered == ["system", "session"] else parts
