"""The plan of a query, made once and bound to the arguments of each run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa
from msgspec import structs
from msgspec.structs import replace

from sqlfront_engine.dag import DAG
from sqlfront_engine.processor import Processor
from sqlfront_planner import run_values
from sqlfront_planner.lanes import Lane, Regime
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.lowering import LoweredQuery
from sqlfront_planner.lowering.builder import ScanVertex
from sqlfront_planner.rules.expressions import fold_constants as folding
from sqlfront_values.errors import InternalError, OperationalError
from sqlfront_values.expressions import (
    AggregateCall,
    Column,
    Expr,
    Literal,
    Parameter,
    RunValue,
    WindowCall,
    expressions_in,
    transform,
    walk,
)
from sqlfront_values.settings import Settings


class Template(msgspec.Struct, frozen=True):
    """A DAG whose parameters have no values yet, and what is needed to fill in the values of a run.

    ``resources`` are the objects for the DAG's sources, by key. ``reads`` are all scans. ``scans`` are the
    scans whose filters hold parameters or values of the run, such as ``current_date``; ``fields`` names the
    other processors that hold some: vertex, processor, and the processor's fields with the values.
    ``distributed``: the DAG runs on all members, else on the planning member.
    """

    dag: DAG
    resources: Mapping[str, object]
    scans: tuple[ScanVertex, ...] = ()
    fields: tuple[tuple[str, Processor, tuple[str, ...]], ...] = ()
    distributed: bool = False
    reads: tuple[ScanVertex, ...] = ()

    def bind(
        self, arguments: Sequence[object] = (), values: "run_values.RunValues | None" = None
    ) -> tuple[DAG, Mapping[str, object]]:
        """Return the DAG of one run, in which values replace the parameters and the run's values, and the
        objects for the DAG's sources, by key. If the template has neither parameters nor values of the run,
        its DAG and objects are returned uncopied. Raises OperationalError (SQLSTATE 40001) if the rows of a
        scanned table have moved to other members since the query was planned.

        ``arguments``: the parameters' values by index, in the form in which a Literal holds a value.
        ``values``: the values of the run, such as ``current_date``; None = the values of this moment in
        UTC.
        """
        if not self.scans and not self.fields:
            return self.dag, self.resources
        values = values or run_values.RunValues(Settings())
        literal = _literals(arguments, values)
        processors: dict[str, Processor] = {
            vertex: structs.replace(
                processor, **{name: _map_expressions(getattr(processor, name), literal) for name in names}
            )
            for vertex, processor, names in self.fields
        }
        resources = dict(self.resources)
        for scan in self.scans:
            filters = tuple(
                folding.fold(transform(part, literal), values.settings) for part in scan.request.filters
            )
            keys = None if scan.keys is None else scan.keys.keys(literal)
            planned = scan.snapshot.scan(replace(scan.request, filters=filters, keys=keys))
            if planned.placed != scan.placed:
                raise OperationalError(
                    f"the rows of `{scan.table}` have moved since the query was planned; run it again",
                    sqlstate="40001",
                )
            processors[scan.vertex] = planned.source
            resources.update(planned.resources)
        return self.dag.with_processors(processors), resources

    @staticmethod
    def literals(
        arguments: Sequence[object] = (), values: "run_values.RunValues | None" = None
    ) -> Callable[[Expr], Expr]:
        """Return a function from expression to expression: for a Parameter or RunValue it returns the literal
        with the value in this run, for any other expression the expression itself. ``arguments``: the
        parameters' values by index; ``values``: the values of the run, such as ``current_date``, None = the
        values at the current time in UTC."""
        return _literals(arguments, values or run_values.RunValues(Settings()))


class SharedPlan(msgspec.Struct, frozen=True):
    """A subplan whose rows a separate job computes once per run; the jobs that read the rows run later, and
    find the rows among their resources by ``key``. ``name``: the name of the rows in EXPLAIN. ``step``: of a
    WITH RECURSIVE, of which ``template`` and ``optimized`` are the anchor, the plan of the further levels;
    None for other rows."""

    key: str
    name: str
    template: Template
    optimized: LogicalPlan
    step: "StepPlan | None" = None


class StepPlan(msgspec.Struct, frozen=True):
    """The plan of the step of a WITH RECURSIVE, which makes the rows of a level from those of the level
    before. A job of the step finds the rows of the level before by ``key``.

    ``kept``: the shared rows of the step that no level changes, which are computed once, before the first
    step. ``shared``: the shared rows that depend on the level before, computed anew for each level.
    ``levels``, ``rows`` and ``limit``: see :class:`~sqlfront_planner.recursion.LogicalRecursion`."""

    key: str
    name: str
    template: Template
    optimized: LogicalPlan
    kept: tuple[SharedPlan, ...]
    shared: tuple[SharedPlan, ...]
    levels: int
    rows: int
    limit: int | None


def every_part(parts: Iterable[SharedPlan]) -> Iterator[SharedPlan | StepPlan]:
    """Yield the plans of shared rows, each followed by its step, if it has one, and the shared rows of that
    step."""
    for part in parts:
        yield part
        if part.step is not None:
            yield from every_part(part.step.kept)
            yield part.step
            yield from every_part(part.step.shared)


class QueryPlan(msgspec.Struct, frozen=True):
    """A planned query; immutable. It reads fixed versions of its tables, and so can be run again as long as
    these versions are wanted.

    ``schema`` is the result's schema, in logical types. ``reason`` explains the choice of the lane.
    ``input_rows`` and ``input_size`` (bytes) are the estimated input of the query's scans. ``bound`` and
    ``optimized`` are the plans from which the DAG was made, for EXPLAIN. ``shared`` are the subplans that are
    computed before the query's job, in this order.
    """

    template: Template
    schema: pa.Schema
    lane: Lane
    regime: Regime
    reason: str
    input_rows: float
    input_size: float
    bound: LogicalPlan
    optimized: LogicalPlan
    shared: tuple[SharedPlan, ...] = ()

    @property
    def dag(self) -> DAG:
        """The physical plan, in which parameters have no values yet."""
        return self.template.dag

    @property
    def inline(self) -> bool:
        """Whether the job should run on the caller's thread."""
        return self.regime is Regime.INLINE

    def bind(
        self, arguments: Sequence[object] = (), values: "run_values.RunValues | None" = None
    ) -> tuple[DAG, Mapping[str, object]]:
        """Return the DAG of one run, in which values replace the parameters and the run's values, and the
        objects for the DAG's sources, by key, without the rows of the ``shared`` subplans. ``arguments``: the
        parameters' values by index; ``values``: the values of the run, such as ``current_date``, None = the
        values at the current time in UTC. Raises OperationalError (SQLSTATE 40001) if the rows of a scanned
        table have moved to other members since the query was planned."""
        return self.template.bind(arguments, values)


def template_of(lowered: LoweredQuery) -> Template:
    """Make the template of a lowered plan: find the scans and processors with parameters or values of the
    run."""
    sources = {scan.vertex for scan in lowered.scans}
    scans = tuple(scan for scan in lowered.scans if any(map(is_open, scan.request.filters)))
    fields = []
    for vertex in lowered.dag:
        processor = vertex.processor
        names = tuple(
            name
            for name in processor.__struct_fields__
            if any(map(is_open, expressions_in(getattr(processor, name))))
        )
        if names and vertex.name not in sources:
            fields.append((vertex.name, processor, names))
    return Template(lowered.dag, lowered.resources, scans, tuple(fields), lowered.distributed, lowered.scans)


def _literals(arguments: Sequence[object], values: "run_values.RunValues") -> Callable[[Expr], Expr]:
    def literal(item: Expr) -> Expr:
        if isinstance(item, Parameter):
            if item.index >= len(arguments):
                raise InternalError(f"no argument for parameter {item.index}")
            return Literal(item.type, arguments[item.index])
        return values.literal(item) if isinstance(item, RunValue) else item

    return literal


def is_open(expression: Expr) -> bool:
    """Return whether the expression's value may differ from run to run: it holds a parameter or a value of
    the run, such as ``current_date``."""
    if isinstance(expression, Column | Literal):
        return False
    return any(isinstance(item, Parameter | RunValue) for item in walk(expression))


def _map_expressions(value: object, literal: Callable[[Expr], Expr]) -> object:
    match value:
        case Expr():
            return transform(value, literal)
        case AggregateCall():
            return structs.replace(
                value,
                arguments=_map_expressions(value.arguments, literal),
                filter=_map_expressions(value.filter, literal),
            )
        case WindowCall():
            return structs.replace(value, arguments=_map_expressions(value.arguments, literal))
        case tuple():
            return tuple(_map_expressions(item, literal) for item in value)
        case _:
            return value
