"""Classes of processors that no other process can import: they are pickled by value, as functions are.

Such a class is defined in a program's main module, in a notebook, or in a function. A plan carries the class
itself in place of an import path. cloudpickle pickles classes of msgspec no further than their names, so that
this module pickles the parts: first the fields, from which msgspec makes a class, then everything else, which
may refer to the class.

To unpickle is to run code: only bytes of a peer whose code may run here are unpickled.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from io import BytesIO
from types import new_class
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from sqlfront_engine.processor import Processor
from sqlfront_values.errors import InterfaceError, OperationalError
from sqlfront_values.memo import Memo
from sqlfront_values.user_functions import PICKLE_PROTOCOL

#: The metaclass of msgspec's classes.
_STRUCT: Final = type(msgspec.Struct)
#: Attributes of a class that msgspec or Python makes.
_MADE: Final = frozenset(
    {
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__dict__",
        "__firstlineno__",
        "__match_args__",
        "__module__",
        "__post_init__",
        "__qualname__",
        "__slots__",
        "__static_attributes__",
        "__struct_config__",
        "__struct_defaults__",
        "__struct_encode_fields__",
        "__struct_fields__",
        "__weakref__",
    }
)
_OPTIONS: Final = (
    "frozen",
    "eq",
    "order",
    "array_like",
    "gc",
    "repr_omit_defaults",
    "omit_defaults",
    "forbid_unknown_fields",
    "cache_hash",
    "tag",
    "tag_field",
)
#: The attributes of msgspec's conditions on values.
_META: Final = (
    "gt",
    "ge",
    "lt",
    "le",
    "multiple_of",
    "pattern",
    "min_length",
    "max_length",
    "tz",
    "title",
    "description",
    "examples",
    "extra_json_schema",
    "extra",
)
#: Unpickled classes that are kept for the next plan with the same bytes.
_KEPT: Final = 64

#: The classes that came here with their pickled forms, by which this process passes them on.
_received: Final[WeakKeyDictionary[type[Processor], bytes]] = WeakKeyDictionary()
_unpickled: Final = Memo[bytes, type[Processor]](_KEPT)


class ShippedClass(msgspec.Struct, frozen=True, array_like=True):
    """The tag of a processor in an encoded plan that brings the processor's class: ``pickled``, its pickled
    form."""

    pickled: bytes


def is_importable(kind: type) -> bool:
    """Return whether another process may find the class under its module and name: the class is in a module
    other than the main one, under its own name.

    >>> is_importable(Processor), is_importable(type("Local", (), {}))
    (True, False)
    """
    found: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind and kind.__module__ != "__main__"


def ship_class(kind: type[Processor]) -> ShippedClass:
    """Return the tag that brings a class that isn't importable. A class that came from another process has
    the form in which it came; any other is pickled anew at each call, with what its methods refer to now.
    Raises InterfaceError if the class can't be pickled, for example since a method refers to a lock."""
    known = _received.get(kind)
    if known is not None:
        return ShippedClass(known)
    try:
        return ShippedClass(_dumps(kind))
    except Exception as error:
        raise InterfaceError(
            f"the processor {kind.__module__}:{kind.__qualname__} can't be sent to other members:"
            f" {type(error).__name__}: {error}"
        ) from error


def shipped_class(tag: ShippedClass, member: str) -> type[Processor]:
    """Return the class of processors that ``tag``, made by :func:`ship_class`, brings. Unpickling runs code:
    pass only a tag of a peer whose code may run here. ``member``: the name of this process. Raises
    OperationalError if the class can't be loaded, for example because a module that it uses isn't
    installed."""
    pickled = tag.pickled
    kind = _unpickled.get(pickled)
    if kind is not None:
        return kind
    import cloudpickle  # noqa: PLC0415 - loaded when first used

    try:
        found = cloudpickle.loads(pickled)
    except Exception as error:
        raise OperationalError(
            f"a processor's class can't be loaded on {member}: {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Processor)):
        raise OperationalError(f"what came as a class of processors is none on {member}")
    _received[found] = pickled
    return _unpickled.keep(pickled, found)


# ---- pickling by value


def _dumps(kind: type[Processor]) -> bytes:
    import cloudpickle  # noqa: PLC0415 - loaded when first used

    class ClassPickler(cloudpickle.Pickler):  # type: ignore[misc]
        """Pickles by their parts classes of msgspec that aren't importable, and msgspec's conditions."""

        def reducer_override(self, obj: object) -> Any:
            if isinstance(obj, msgspec.Meta):
                return _meta, ({name: getattr(obj, name) for name in _META},)
            if type(obj) is _STRUCT and isinstance(obj, type) and not is_importable(obj):
                return _by_value(obj)
            return super().reducer_override(obj)

    content = BytesIO()
    ClassPickler(content, protocol=PICKLE_PROTOCOL).dump(kind)
    return content.getvalue()


def _by_value(kind: Any) -> tuple[Any, ...]:
    """Return how pickle makes the class: by :func:`_class_of` from names, bases and fields, then by
    :func:`_complete` from all other attributes."""
    own = inspect.get_annotations(kind)
    fields = {each.name: each for each in msgspec.structs.fields(kind) if each.name in own}
    types = {name: each.type for name, each in fields.items()}
    defaults = {name: value for name, each in fields.items() if (value := _default(each)) is not None}
    options = {name: getattr(kind.__struct_config__, name) for name in _OPTIONS}
    options["kw_only"] = bool(types) and not set(types) & set(kind.__match_args__)
    rest = {name: value for name, value in kind.__dict__.items() if name not in {*_MADE, *fields}}
    after = kind.__dict__.get("__post_init__")
    names = kind.__module__, kind.__qualname__
    made = _class_of, (names, kind.__bases__, types, defaults, options, after is not None)
    return (*made, (rest, after), None, None, _complete)


def _meta(given: dict[str, Any]) -> msgspec.Meta:
    """Return a condition on a field's values, which msgspec doesn't pickle."""
    return msgspec.Meta(**given)


def _default(field: msgspec.structs.FieldInfo) -> tuple[bool, object] | None:
    """Return whether the field's default is made anew for each object, and the default or its maker; None
    for a field without a default."""
    if field.default_factory is not msgspec.NODEFAULT:
        return True, field.default_factory
    return None if field.default is msgspec.NODEFAULT else (False, field.default)


def _class_of(
    names: tuple[str, str],
    bases: tuple[type, ...],
    types: Mapping[str, Any],
    defaults: Mapping[str, tuple[bool, Any]],
    options: dict[str, Any],
    has_post_init: bool,
) -> type:
    """Return a class of msgspec with the fields ``types`` and nothing else."""
    module, path = names
    body: dict[str, Any] = {"__module__": module, "__qualname__": path, "__annotations__": dict(types)}
    for name, (is_made, value) in defaults.items():
        body[name] = msgspec.field(default_factory=value) if is_made else msgspec.field(default=value)
    if has_post_init:
        body["__post_init__"] = _later()
    made: type = new_class(path.rpartition(".")[2], bases, options, lambda given: given.update(body))
    return made


def _later() -> Callable[[object], None]:
    """Return a method ``__post_init__`` that calls its attribute ``target``: msgspec notes the method when it
    makes the class, before there is the real one."""

    def post_init(self: object) -> None:
        post_init.target(self)  # type: ignore[attr-defined]

    return post_init


def _complete(kind: type, state: tuple[Mapping[str, object], Callable[[object], None] | None]) -> None:
    """Give a class its other attributes."""
    rest, after = state
    if after is not None:
        kind.__dict__["__post_init__"].target = after
    for name, value in rest.items():
        setattr(kind, name, value)
