"""Modules that are loaded when one of their names is first used.

``import sqlfront`` and a small query need a sixth of the code base; the rest must not slow the start of a
process. A module that only some queries need is therefore declared, below the imports, as

    if TYPE_CHECKING:
        from sqlfront_planner.binder import windows
    else:
        windows = lazy_module("sqlfront_planner.binder.windows")

and its names are used as ``windows.bind_window``. Annotations that name its classes are strings. If a table
maps names to modules (:data:`sqlfront_values.functions.registry.AREAS`), the table's owner loads the modules.

A lazy module counts as an import for the order of the packages (``tests/architecture`` checks the order).
"""

from importlib import import_module
from types import ModuleType


class _LazyModule(ModuleType):
    """A stand-in for a module; the first access of each name looks the name up in the real module."""

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self.__name__), name)
        # Keep the value as an attribute: the next access then costs as much as any attribute of a module.
        self.__dict__[name] = value
        return value


def lazy_module(name: str) -> ModuleType:
    """Return a stand-in for the module of that absolute name, loaded on first use; any thread may use it."""
    return _LazyModule(name)
