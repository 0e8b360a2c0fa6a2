"""Modules that are loaded when something of them is first used.

``import sqlfront`` and a small query need a sixth of the house; what they don't need must not cost a starting
process time. A module that only some queries need is therefore declared, below the imports, as

    if TYPE_CHECKING:
        from sqlfront_planner.binder import windows
    else:
        windows = lazy_module("sqlfront_planner.binder.windows")

and its names are used as ``windows.bind_window``. Annotations that name its classes are strings. Where
a table says which module serves what (:data:`sqlfront_values.functions.registry.AREAS`), the table's owner
loads it.

What is declared so counts as an import for the order of the rooms (``tests/architecture`` checks it).
"""

from importlib import import_module
from types import ModuleType


class _LazyModule(ModuleType):
    """Stands for a module; the first look at each of its names is a look into the real one."""

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self.__name__), name)
        # Found once, then an attribute: the next look costs what an attribute of a module costs.
        self.__dict__[name] = value
        return value


def lazy_module(name: str) -> ModuleType:
    """What stands for the module of that absolute name until it is needed; any thread may use it."""
    return _LazyModule(name)
