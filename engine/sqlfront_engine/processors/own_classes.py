"""Processors of users' own in plans for other members: named by import path, and run where that is allowed.

A plan names such a processor by ``package.module:Class``; classes that can't be named so come with the plan
(:mod:`~sqlfront_engine.processors.shipped_classes`). The member imports the class, and decodes the parameters
by the types of the class's fields. As the import of a module runs the module's code, a member imports only
what whoever started the member has allowed.
"""

import re
from importlib import import_module
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from sqlfront_engine.processor import Processor
from sqlfront_values.errors import NotSupportedError, OperationalError

_NAME: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
#: Characters of an import path at most, so that an error message can quote the path.
_LONGEST: Final = 500
#: The main module of a program, which is another one in each process.
_MAIN: Final = "__main__"
#: The classes of processors that this process itself has put into plans, by import path: members in this
#: process run them, wherever they are defined.
_own: Final[WeakValueDictionary[str, type[Processor]]] = WeakValueDictionary()


class AllowedCode(msgspec.Struct, frozen=True):
    """The code of users that may run in a process. ``user_code``: functions that come with a plan, and
    processors of any module. ``modules``: the modules whose processors run in any case, with their
    submodules. ``member``: the name of the process for messages."""

    user_code: bool = False
    modules: tuple[str, ...] = ()
    member: str = "this member"

    def allows(self, module: str) -> bool:
        """Return whether processors of the module with this name may run.

        >>> allowed = AllowedCode(modules=("ours",))
        >>> allowed.allows("ours.sources"), allowed.allows("ourselves")
        (True, False)
        """
        return self.user_code or any(f"{module}.".startswith(f"{each}.") for each in self.modules)

    def check_shipped(self) -> None:
        """Raise NotSupportedError unless classes of processors that come with a plan may run."""
        if not self.user_code:
            raise NotSupportedError(
                "a processor whose class is defined in a main module, a notebook or a function comes with its"
                f" code, which doesn't run on {self.member}: define the class in a module that the member may"
                " import, or have code allowed (`--allow-user-code` of `sqlfront cluster start` and `sqlfront"
                " member`; for members of a session's own, Config(allow_user_code=True))"
            )


NO_CODE: Final = AllowedCode()


def is_module_name(text: str) -> bool:
    """Return whether ``text`` can be the name of a module, such as ``package.module``."""
    return re.fullmatch(_NAME, text) is not None


def place_of(kind: type[Processor]) -> str:
    """Return the import path by which plans name the class of a processor of a user's own."""
    place = f"{kind.__module__}:{kind.__qualname__}"
    _own[place] = kind
    return place


def own_class(place: str, allowed: AllowedCode) -> type[Processor]:
    """Return the class of processors with the import path ``place``, imported at the first call. ``allowed``:
    the code that may run in this process. Raises NotSupportedError if the module is not allowed (the module
    is not imported then), OperationalError if there is no such class of processors here."""
    module, _, name = place.partition(":")
    if not allowed.allows(module):
        raise _refused(place, allowed.member)
    kind = _own.get(place) or _imported(place, module, name, allowed.member)
    if not (isinstance(kind, type) and issubclass(kind, Processor)):
        raise OperationalError(f"{place} is no class of processors on {allowed.member}")
    if f"{kind.__module__}:{kind.__qualname__}" != place:
        raise OperationalError(
            f"{place} is another name of {kind.__module__}:{kind.__qualname__} on {allowed.member}"
        )
    return kind


def _imported(place: str, module: str, name: str, member: str) -> object:
    if len(place) > _LONGEST or module == _MAIN or not (is_module_name(module) and is_module_name(name)):
        raise OperationalError(
            f"the processor {place[:_LONGEST]} can't be imported on {member}: define its class in a module,"
            " outside of functions, that is installed there"
        )
    try:
        found: object = import_module(module)
        for each in name.split("."):
            found = getattr(found, each)
    except (Exception, SystemExit) as error:
        raise OperationalError(
            f"the processor {place} can't be imported on {member}: {type(error).__name__}: {error}"
        ) from error
    return found


def _refused(place: str, member: str) -> NotSupportedError:
    return NotSupportedError(
        f"the processor {place[:_LONGEST]} doesn't run on {member}, which imports no modules for its clients;"
        " whoever starts a cluster can allow modules (`sqlfront cluster start --processor-module`, `sqlfront"
        " member --processor-module`; for members of a session's own, Config(processor_modules=[...]))"
    )
