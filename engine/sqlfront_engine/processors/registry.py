"""The processors that a member can run for other members, by the tag that stands for them in an encoded
plan.

A tag is the name of the processor's class; for a user's own class the tag is its import path
(:mod:`~sqlfront_engine.processors.own_classes`), or, if other processes can't import it, the class itself
(:mod:`~sqlfront_engine.processors.shipped_classes`). Decoding a plan imports only the modules of the plan's
own processors.
"""

from importlib import import_module
from typing import Final

from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.own_classes import NO_CODE, AllowedCode, own_class, place_of
from sqlfront_engine.processors.shipped_classes import ShippedClass, is_importable, ship_class, shipped_class
from sqlfront_values.errors import InterfaceError, OperationalError

_HERE: Final = "sqlfront_engine.processors"

_PLACES: Final[dict[str, str]] = {
    "Aggregate": f"{_HERE}.aggregation.aggregate:Aggregate",
    "Batches": "sqlfront_engine.testing.harness:Batches",
    "CooperativeMapUsingService": f"{_HERE}.user_code.services:CooperativeMapUsingService",
    "Filter": f"{_HERE}.filter:Filter",
    "FilterProject": f"{_HERE}.project:FilterProject",
    "Forward": f"{_HERE}.forward:Forward",
    "FunctionSink": f"{_HERE}.user_code.sinks:FunctionSink",
    "FunctionSource": f"{_HERE}.user_code.sources:FunctionSource",
    "Generate": f"{_HERE}.generate:Generate",
    "HashJoin": f"{_HERE}.joins.hash_join:HashJoin",
    "HeldRows": f"{_HERE}.sources.held_rows:HeldRows",
    "KeyFilter": f"{_HERE}.joins.key_filter:KeyFilter",
    "Limit": f"{_HERE}.limit:Limit",
    "LoggerSink": f"{_HERE}.user_code.sinks:LoggerSink",
    "MapUsingService": f"{_HERE}.user_code.services:MapUsingService",
    "MapUsingServiceAsync": f"{_HERE}.user_code.services:MapUsingServiceAsync",
    "NestedLoopJoin": f"{_HERE}.joins.nested_loop_join:NestedLoopJoin",
    "Project": f"{_HERE}.project:Project",
    "Range": f"{_HERE}.sources.range:Range",
    "ResourceSink": f"{_HERE}.user_code.sinks:ResourceSink",
    "ResultSink": f"{_HERE}.sink:ResultSink",
    "ScalarRow": f"{_HERE}.sources.scalar_row:ScalarRow",
    "SetDifference": f"{_HERE}.set_difference:SetDifference",
    "Sort": f"{_HERE}.sort:Sort",
    "SplitScan": f"{_HERE}.sources.split_scan:SplitScan",
    "SpoolScan": f"{_HERE}.spool.spool_scan:SpoolScan",
    "SpoolWrite": f"{_HERE}.spool.spool_write:SpoolWrite",
    "TopN": f"{_HERE}.top_n:TopN",
    "Transform": f"{_HERE}.user_code.transform:Transform",
    "Union": f"{_HERE}.union:Union",
    "Values": f"{_HERE}.sources.values:Values",
    "Window": f"{_HERE}.window:Window",
}
_CLASSES: Final[dict[str, type[Processor]]] = {}


def register_processor(place: str) -> None:
    """Register a connector's processor, so that other members can run it. ``place`` is ``"module:Class"``,
    importable on every member. Raises InterfaceError if a class of this name in another module is
    registered."""
    tag = place.rpartition(":")[2]
    if _PLACES.setdefault(tag, place) != place:
        raise InterfaceError(f"the processor {tag} of {place} has the name of that of {_PLACES[tag]}")


def tag_of(processor: Processor, *, ships_classes: bool = False) -> str | ShippedClass:
    """Return the tag by which an encoded plan names the processor's class: the name of a registered class,
    the import path ``package.module:Class`` of any other. ``ships_classes``: a class that other processes
    can't import is pickled. Raises InterfaceError if such a class can't be pickled."""
    kind = type(processor)
    tag = kind.__name__
    if _CLASSES.get(tag) is kind:
        return tag
    if _PLACES.get(tag) != f"{kind.__module__}:{kind.__qualname__}":
        return ship_class(kind) if ships_classes and not is_importable(kind) else place_of(kind)
    _CLASSES[tag] = kind
    return tag


def is_registered(kind: type[Processor]) -> bool:
    """Return whether the class of processors is sqlfront's or a connector's, and not a user's own."""
    return _PLACES.get(kind.__name__) == f"{kind.__module__}:{kind.__qualname__}"


def is_own(tag: str | ShippedClass) -> bool:
    """Return whether the tag stands for a class of a user's own."""
    return isinstance(tag, ShippedClass) or ":" in tag


def processor_class(tag: str | ShippedClass, allowed: AllowedCode = NO_CODE) -> type[Processor]:
    """Return the processor class of a tag, imported or unpickled at the first call. ``allowed``: the code of
    users that may run in this process. Raises OperationalError if this member has no such processor,
    NotSupportedError for a class of a user's own that isn't allowed."""
    if isinstance(tag, ShippedClass):
        allowed.check_shipped()
        return shipped_class(tag, allowed.member)
    if is_own(tag):
        return own_class(tag, allowed)
    kind = _CLASSES.get(tag)
    if kind is None:
        place = _PLACES.get(tag)
        if place is None:
            raise OperationalError(
                f"this member knows no processor {tag!r}; known processors: {', '.join(_PLACES)}"
            )
        module, _, name = place.partition(":")
        try:
            kind = _CLASSES[tag] = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise OperationalError(
                f"the processor {place} can't be loaded on this member: {error}"
            ) from error
    return kind
