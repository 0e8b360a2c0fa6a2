"""The steps of a pipeline: plain data, from which the coordinator plans the DAG.

A step refers to its inputs by their positions in the pipeline, has the schema of its output (logical
types), and holds Python functions only as :class:`~sqlfront_values.user_functions.UserFunction`.
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
    """A choice of the member that runs the only instance of a source or sink: the owner of a key's
    partition. ``key`` are expressions without columns, over the run's arguments, evaluated at each
    submission."""

    key: tuple[Expr, ...]


class Step(msgspec.Struct, frozen=True, tag_field="step", tag=True):
    """The base of all steps of a pipeline: one operation, such as a read, a map, a join or a write, from
    which planning makes vertices of the DAG. ``schema``: the columns of the rows that the step emits.
    ``inputs``: the steps whose rows it reads, as positions in :attr:`.Definition.steps`. ``parallelism``:
    instances per member, None = the operator's preference or one per worker."""

    name: str
    schema: pa.Schema
    inputs: tuple[int, ...]
    parallelism: int | None


class ReadStep(Step, frozen=True, tag_field="step", tag=True):
    """A step that reads rows from a source. ``only_on``: the member that runs the source's only instance in
    the cluster; None = instances on every member, as :attr:`parallelism` says."""

    source: Processor
    only_on: OnlyOn | OwnerOf | None = None


class ReadTable(Step, frozen=True, tag_field="step", tag=True):
    """A step that reads all rows of a table, in the version that is current at submission."""

    table: Table


class Apply(Step, frozen=True, tag_field="step", tag=True):
    """A stateless step: map, filter, flat-map, or a map over batches. Adjacent steps of this kind and of the
    same parallelism are fused into one vertex."""

    kind: OperationKind
    function: UserFunction


class UseService(Step, frozen=True, tag_field="step", tag=True):
    """A step that maps each row by a function that uses a service. ``concurrency`` None: the function is
    called; else the function is awaited, for up to ``concurrency`` rows at a time. ``blocking``: the called
    function may block."""

    service: Service
    function: UserFunction
    blocking: bool = True
    concurrency: int | None = None


class RebalanceStep(Step, frozen=True, tag_field="step", tag=True):
    """A step that spreads rows over the instances of all members: by the columns ``keys`` (ordinals), or
    evenly without keys."""

    keys: tuple[int, ...] = ()


class GroupAndAggregate(Step, frozen=True, tag_field="step", tag=True):
    """A step that emits one row per distinct key, or exactly one row without keys. A row has the key's
    columns, then the results of the calls."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


class JoinStep(Step, frozen=True, tag_field="step", tag=True):
    """A step that joins the rows of two inputs with equal keys; null equals nothing. The keys are
    ordinals."""

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]


class WriteStep(Step, frozen=True, tag_field="step", tag=True):
    """A step that writes rows into a sink. ``only_on``: the member that runs the sink's only instance in
    the cluster; None = instances on every member, as :attr:`parallelism` says."""

    sink: Processor
    only_on: OnlyOn | OwnerOf | None = None


class WriteTable(Step, frozen=True, tag_field="step", tag=True):
    """A step that inserts rows into a table, all rows in one insert. ``overwrite``: the inserted rows
    replace the table's rows."""

    table: WritableTable
    overwrite: bool = False


class Definition(msgspec.Struct, frozen=True):
    """A pipeline as data. ``steps`` are in an order in which each comes after its inputs. ``preserve_order``:
    rows keep their order on each path from a source."""

    steps: tuple[Step, ...]
    preserve_order: bool = False

    def is_sink(self, position: int) -> bool:
        """Return whether the step at ``position`` writes into a sink or a table, and so emits no rows."""
        return isinstance(self.steps[position], WriteStep | WriteTable)

    def consumers(self, position: int) -> tuple[int, ...]:
        """Return the positions of the steps that read the output of the step at ``position``."""
        return tuple(place for place, step in enumerate(self.steps) if position in step.inputs)
