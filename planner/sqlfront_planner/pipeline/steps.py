"""The steps of a pipeline: plain data, from which the DAG is planned after submission.

A step refers to inputs by position, states the schema of the output (logical types) and holds functions only
as :class:`~sqlfront_values.user_functions.UserFunction`.
"""

from typing import Literal

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import Table, WritableTable
from sqlfront_engine.dag import OnlyOn
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.user_code.services import Service
from sqlfront_engine.processors.user_code.transform import OperationKind
from sqlfront_values.expressions import AggregateCall, Expr
from sqlfront_values.user_functions import UserFunction

#: The names of the kinds of joins that a pipeline can have.
JoinName = Literal["inner", "left", "right", "full", "semi", "anti"]


class OwnerOf(msgspec.Struct, frozen=True):
    """The place of a source or sink of total parallelism one: the owner of a key's partition. ``key`` are
    expressions without columns, over the run's arguments; they are evaluated at each submission."""

    key: tuple[Expr, ...]


class Step(msgspec.Struct, frozen=True, tag_field="step", tag=True):
    """The base of all steps. ``parallelism``: instances per member, None = the operator's preference or one
    per worker."""

    name: str
    schema: pa.Schema
    inputs: tuple[int, ...]
    parallelism: int | None


class ReadStep(Step, frozen=True, tag_field="step", tag=True):
    """Read rows from a source. ``only_on``: the place of the source's only instance in the whole cluster;
    None = instances on every member, as :attr:`parallelism` says."""

    source: Processor
    only_on: OnlyOn | OwnerOf | None = None


class ReadTable(Step, frozen=True, tag_field="step", tag=True):
    """Read all rows of the version that the table has at submission."""

    table: Table


class Apply(Step, frozen=True, tag_field="step", tag=True):
    """Map, filter, flat-map or map over batches; stateless, fused with adjacent Apply steps."""

    kind: OperationKind
    function: UserFunction


class UseService(Step, frozen=True, tag_field="step", tag=True):
    """Map each row by a function that uses a service. ``concurrency`` None: the function is called; else the
    function is awaited, for up to ``concurrency`` rows at a time. ``blocking``: the called function may
    block."""

    service: Service
    function: UserFunction
    blocking: bool = True
    concurrency: int | None = None


class RebalanceStep(Step, frozen=True, tag_field="step", tag=True):
    """Spread rows over all members, by ``keys`` (ordinals), or evenly without keys."""

    keys: tuple[int, ...] = ()


class GroupAndAggregate(Step, frozen=True, tag_field="step", tag=True):
    """One row per distinct key, without keys exactly one row: the keys, then the calls' results."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


class JoinStep(Step, frozen=True, tag_field="step", tag=True):
    """Join the rows of two inputs with equal keys; null equals nothing."""

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]


class WriteStep(Step, frozen=True, tag_field="step", tag=True):
    """Write rows into a sink. ``only_on``: the place of the sink's only instance in the whole cluster; None =
    instances on every member, as :attr:`parallelism` says."""

    sink: Processor
    only_on: OnlyOn | OwnerOf | None = None


class WriteTable(Step, frozen=True, tag_field="step", tag=True):
    """Write rows into a table, in one insert. ``overwrite``: the rows take the place of the table's rows."""

    table: WritableTable
    overwrite: bool = False


class Definition(msgspec.Struct, frozen=True):
    """A whole pipeline as data. ``preserve_order``: rows keep their order on each path from a source."""

    steps: tuple[Step, ...]
    preserve_order: bool = False

    def is_sink(self, position: int) -> bool:
        """Whether the step at ``position`` is an end of the pipeline."""
        return isinstance(self.steps[position], WriteStep | WriteTable)

    def consumers(self, position: int) -> tuple[int, ...]:
        """The positions of the steps that read the step at ``position``."""
        return tuple(place for place, step in enumerate(self.steps) if position in step.inputs)
