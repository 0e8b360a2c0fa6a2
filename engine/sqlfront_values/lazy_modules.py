"""Modules that are loaded when one of their names is first used.

``import sqlfront`` and a small query need a sixth of the code base; the rest must not slow the start of a
process. The package of a module that only some queries need therefore declares, above its own imports,

    lazy_submodules(__name__, "windows")

Then ``from sqlfront_planner.binder import windows`` loads nothing, and the first use of a name, as in
``windows.bind_window``, loads the module. Annotations that name its classes are strings. A module of another
project is declared where it is used, below the imports, as

    if TYPE_CHECKING:
        from pyspark import errors as spark_errors
    else:
        spark_errors = lazy_module("pyspark.errors")

If a table maps names to modules (:data:`sqlfront_values.functions.registry.AREAS`), the table's owner loads
the modules. A lazy module counts as an import for the order of the packages (``tests/architecture`` checks
the order).
"""

import sys
from importlib import import_module
from types import ModuleType


class _LazyModule(ModuleType):
    """A stand-in for a module; the first access of each name looks the name up in the real module."""

    def __getattr__(self, name: str) -> object:
        if name == "__wrapped__":  # tools look for it in every object of a package, as inspect.unwrap does
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        value = getattr(import_module(self.__name__), name)
        # Keep the value as an attribute: the next access then costs as much as any attribute of a module.
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        setattr(import_module(self.__name__), name, value)


def lazy_module(name: str) -> ModuleType:
    """Return a stand-in for the module with the absolute name ``name``; the module is imported when one of
    its attributes is first used. Any thread may use the stand-in."""
    return _LazyModule(name)


def lazy_submodules(package: str, *names: str) -> None:
    """Make each of the modules ``names`` of a package load on first use: ``from package import name`` returns
    a stand-in, and the first use of one of its attributes imports ``package.name``, which replaces the
    stand-in in the package. ``package`` is the package's ``__name__`` and must be in ``sys.modules``."""
    for name in names:
        setattr(sys.modules[package], name, _LazyModule(f"{package}.{name}"))
