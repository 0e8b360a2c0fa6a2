"""The SQL variables of a session, with their values."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from sqlfront_planner.binder import Arguments
from sqlfront_planner.variables import SessionVariable, VariableSet

_NONE: Final = VariableSet(())


class Variables:
    """The variables that DECLARE makes, SET VARIABLE changes and DROP VARIABLE removes. A statement reads the
    values that the variables have when it begins. All methods may be called from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Invariant: replaced as a whole. The values are in the order of the variables.
        self._state: tuple[VariableSet, tuple[object, ...]] = _NONE, ()

    def __bool__(self) -> bool:
        return len(self._state[0]) > 0

    def find(self, name: str) -> SessionVariable | None:
        """Return the variable ``name``, in any case; None if there is none."""
        known = self._state[0]
        place = known.place(name)
        return None if place is None else known.variables[place]

    def added_to(self, arguments: Arguments) -> Arguments:
        """Return a statement's ``arguments`` with the variables and their values, if there are any."""
        known, values = self._state
        return arguments.with_variables(known, values) if values else arguments

    def declare(self, declared: Sequence[tuple[SessionVariable, object]]) -> None:
        """Add variables with their first values; they replace variables of the same names."""
        with self._lock:
            known, values = self._state
            present = {
                each.name.lower(): (each, value) for each, value in zip(known.variables, values, strict=True)
            }
            present.update({variable.name.lower(): (variable, value) for variable, value in declared})
            self._replace(present)

    def drop(self, name: str) -> bool:
        """Remove the variable ``name``; return False if there is none."""
        with self._lock:
            known, values = self._state
            present = {
                each.name.lower(): (each, value) for each, value in zip(known.variables, values, strict=True)
            }
            if present.pop(name.lower(), None) is None:
                return False
            self._replace(present)
            return True

    def assign(self, changed: Mapping[str, object]) -> None:
        """Give variables, by lower-case name, new values, all at once."""
        with self._lock:
            known, values = self._state
            pairs = zip(known.variables, values, strict=True)
            self._state = known, tuple(changed.get(each.name.lower(), value) for each, value in pairs)

    def _replace(self, present: Mapping[str, tuple[SessionVariable, object]]) -> None:
        """Make ``present`` the session's variables. If names, types and order stay, so does the set, and with
        it the cached plans. The caller holds the lock."""
        known = self._state[0]
        variables, values = (
            tuple(each for each, _ in present.values()),
            tuple(value for _, value in present.values()),
        )
        same = [(each.name, each.type) for each in variables] == [
            (each.name, each.type) for each in known.variables
        ]
        if same:
            known.variables = variables
        self._state = (known if same else VariableSet(variables)), values
