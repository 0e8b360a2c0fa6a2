"""The steps of a pipeline: plain data, from which the DAG is planned after submission.

A step names the steps that it takes from by their positions, states the schema of what it gives (logical
types) and holds functions only as :class:`~sqlfront_values.user_functions.UserFunction`.
"""

from typing import TYPE_CHECKING, Final, Literal

import msgspec
import pyarrow as pa

from sqlfront_engine.dag import OnlyOn
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.user_code.services import Service
from sqlfront_engine.processors.user_code.transform import OperationKind
from sqlfront_values.expressions import AggregateCall, Expr
from sqlfront_values.user_functions import UserFunction

if TYPE_CHECKING:
    from sqlfront_connectors.base import Table, WritableTable

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
#: Kinds of join that give columns of the left side only.
FILTERING_JOINS: Final = frozenset({"semi", "anti"})


class OwnerOf(msgspec.Struct, frozen=True):
    """Where a source or sink of total parallelism one runs: with the owner of a key's partition. ``key`` are
    expressions without columns, over the run's arguments; they are evaluated at each submission."""

    key: tuple[Expr, ...]


class Step(msgspec.Struct, frozen=True, tag_field="step", tag=True):
    """The base. ``parallelism``: instances per member, None = the operator's preference or one per worker."""

    name: str
    schema: pa.Schema
    inputs: tuple[int, ...]
    parallelism: int | None


class Read(Step, frozen=True, tag_field="step", tag=True):
    """Rows from a source; ``only_on``: one instance in the cluster."""

    source: Processor
    only_on: OnlyOn | OwnerOf | None = None


class ReadTable(Step, frozen=True, tag_field="step", tag=True):
    """All rows of the version that a table has at submission."""

    table: "Table"


class Apply(Step, frozen=True, tag_field="step", tag=True):
    """Map, filter, flat-map or map over batches; stateless, fused with its like."""

    kind: OperationKind
    function: UserFunction


class UseService(Step, frozen=True, tag_field="step", tag=True):
    """Map with a service. ``concurrency`` None: the function is called, else awaited by so many at a time.
    ``blocking``: the called function may block."""

    service: Service
    function: UserFunction
    blocking: bool = True
    concurrency: int | None = None


class Rebalance(Step, frozen=True, tag_field="step", tag=True):
    """Spread rows over all members; by ``keys`` (ordinals), or evenly without."""

    keys: tuple[int, ...] = ()


class GroupAndAggregate(Step, frozen=True, tag_field="step", tag=True):
    """One row per distinct key, without keys exactly one: the keys, then the calls' results."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


class Join(Step, frozen=True, tag_field="step", tag=True):
    """Rows of two inputs whose keys are equal; null equals nothing."""

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]


class Write(Step, frozen=True, tag_field="step", tag=True):
    """Rows into a sink; ``only_on``: one instance in the cluster."""

    sink: Processor
    only_on: OnlyOn | OwnerOf | None = None


class WriteTable(Step, frozen=True, tag_field="step", tag=True):
    """Rows into a table, in one insert."""

    table: "WritableTable"
    overwrite: bool = False


class Definition(msgspec.Struct, frozen=True):
    """A whole pipeline as data. ``preserve_order``: rows keep their order on each path from a source."""

    steps: tuple[Step, ...]
    preserve_order: bool = False

    def is_sink(self, position: int) -> bool:
        """Whether the step at ``position`` is an end of the pipeline."""
        return isinstance(self.steps[position], Write | WriteTable)

    def consumers(self, position: int) -> tuple[int, ...]:
        """The positions of the steps that take from the one at ``position``."""
        return tuple(place for place, step in enumerate(self.steps) if position in step.inputs)
