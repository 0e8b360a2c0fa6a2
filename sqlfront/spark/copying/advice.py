"""Advice to copy relations of Spark's: the CACHE TABLE that would let sqlfront answer a query, and the memory
that it takes."""

from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront_planner.binder import Arguments, bind
from sqlfront_planner.statements.dotted_names import dotted
from sqlfront_values.errors import Error
from sqlfront_values.room import in_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlfront.state.context import Context
    from sqlfront.state.spark_beside import SparkBeside
    from sqlfront_planner.statements.structs import Query

#: Shares of the free memory below which the text gives no figure.
_LITTLE: Final = 0.01


class Advice(msgspec.Struct, frozen=True):
    """Advice to the user to copy relations by CACHE TABLE, so that sqlfront runs a query in the light lane.
    ``names``: the relations as the query writes them, in parts; ``size``: Spark's estimate of the relations'
    bytes; ``free``: the bytes of memory that are free for copies; ``follows``: whether sqlfront notices when
    the rows of the relations change."""

    names: tuple[tuple[str, ...], ...]
    size: int
    free: float
    follows: bool

    @property
    def text(self) -> str:
        """The advice as text, which is appended to the reason for the Spark lane.

        >>> Advice((("trips",),), 27_955, 1e9, True).text
        'CACHE TABLE trips would make it light: about 27.3 KiB, less than 1% of the free memory'
        """
        share = self.size / self.free
        much = f"less than {_LITTLE:.0%}" if share < _LITTLE else f"{share:.0%}"
        copies = " and ".join(f"CACHE TABLE {dotted(name)}" for name in self.names)
        return f"{copies} would make it light: about {in_units(self.size)}, {much} of the free memory"


def advice_for(
    query: "Query",
    arguments: Arguments,
    names: "Sequence[tuple[str, ...]]",
    spark: "SparkBeside",
    context: "Context",
) -> Advice | None:
    """Return the advice to copy the relations ``names`` of Spark's, which ``query`` reads. None if sqlfront
    doesn't cover the query, if a relation's size is unknown, or if the copies would not fit into the free
    memory. Runs no job."""
    try:
        bind(query, context.catalog.with_elsewhere(), context.bind_settings, arguments)
        found = [spark.copied(name) for name in names]
    except Error:
        return None
    size = sum(each.size for each in found)
    free = free_memory(context)
    if size >= free:
        return None
    return Advice(tuple(names), size, free, all(each.follows for each in found))


def free_memory(context: "Context") -> float:
    """Return the number of bytes of memory that are free for CACHE TABLE's copies; for a session with several
    members, all of their memory, used or not."""
    used = context.engine.memory.used if context.cluster is None else 0
    return context.memory - used
