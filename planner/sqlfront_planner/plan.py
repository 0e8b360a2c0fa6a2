"""A planned query: made once, bound for each run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from msgspec import structs

from sqlfront_engine.dag import DAG
from sqlfront_engine.errors import InternalError
from sqlfront_engine.expressions import (
    AggregateCall,
    Expr,
    Literal,
    Parameter,
    RunValue,
    WindowCall,
    transform,
    walk,
)
from sqlfront_engine.functions.registry import Settings
from sqlfront_engine.processor import Processor
from sqlfront_planner.lanes import Lane, Regime
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.lowering.builder import ScanVertex
from sqlfront_planner.run_values import RunValues


@dataclass(frozen=True, slots=True)
class Template:
    """What has to be replaced in a DAG for a run: the scans, and the fields of other processors, that hold
    parameters or values of the run."""

    scans: tuple[ScanVertex, ...] = ()
    fields: tuple[tuple[str, Processor, tuple[str, ...]], ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if every run can use the DAG as it is."""
        return not self.scans and not self.fields


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query after planning; immutable, valid as long as the versions of the tables that it reads are
    wanted.

    ``schema`` is the result's, in logical types. ``reason`` says why the query goes that way. ``bound`` and
    ``optimized`` are the plans that the DAG was made from, for EXPLAIN.
    """

    dag: DAG
    schema: pa.Schema
    lane: Lane
    regime: Regime
    reason: str
    input_rows: float
    input_size: float
    bound: LogicalPlan
    optimized: LogicalPlan
    resources: Mapping[str, object] = field(default_factory=dict)
    template: Template = field(default_factory=Template)

    @property
    def inline(self) -> bool:
        """Whether the job is to run on the caller's thread."""
        return self.regime is Regime.INLINE

    def bind(
        self, arguments: Sequence[object] = (), settings: Settings | None = None
    ) -> tuple[DAG, Mapping[str, object]]:
        """The DAG of one run, without parameters, and what its sources need.

        ``arguments``: a value for each Parameter by index, as a Literal holds it. Values of the run
        (``current_date``) are those of this moment in the settings' time zone.
        """
        if self.template.is_empty:
            return self.dag, self.resources
        return bind(self, arguments, settings or Settings())


def bind(
    plan: QueryPlan, arguments: Sequence[object], settings: Settings
) -> tuple[DAG, Mapping[str, object]]:
    """See :meth:`QueryPlan.bind`."""
    values = RunValues(settings)

    def literal(item: Expr) -> Expr:
        if isinstance(item, Parameter):
            if item.index >= len(arguments):
                raise InternalError(f"no argument for parameter {item.index}")
            return Literal(item.type, arguments[item.index])
        return values.literal(item) if isinstance(item, RunValue) else item

    def bound(value: object) -> object:
        return _map_expressions(value, literal)

    processors: dict[str, Processor] = {
        name: structs.replace(processor, **{field: bound(getattr(processor, field)) for field in fields})
        for name, processor, fields in plan.template.fields
    }
    resources = dict(plan.resources)
    for scan in plan.template.scans:
        filters = tuple(transform(part, literal) for part in scan.request.filters)
        planned = scan.snapshot.scan(replace(scan.request, filters=filters))
        processors[scan.vertex] = planned.source
        resources.update(planned.resources)
    return plan.dag.with_processors(processors), resources


def template_of(dag: DAG, scans: Iterable[ScanVertex]) -> Template:
    """What a DAG has that differs from run to run."""
    bound_scans = tuple(scan for scan in scans if any(map(is_open, scan.request.filters)))
    sources = {scan.vertex for scan in scans}
    fields = []
    for vertex in dag:
        if vertex.name in sources:
            continue
        processor = vertex.processor
        names = tuple(
            name for name in processor.__struct_fields__ if _is_open_value(getattr(processor, name))
        )
        if names:
            fields.append((vertex.name, processor, names))
    return Template(bound_scans, tuple(fields))


def is_open(expression: Expr) -> bool:
    """True if the expression has another value in another run."""
    return any(isinstance(item, Parameter | RunValue) for item in walk(expression))


def _is_open_value(value: object) -> bool:
    match value:
        case Expr():
            return is_open(value)
        case AggregateCall() | WindowCall():
            return _is_open_value(value.arguments) or _is_open_value(getattr(value, "filter", None))
        case tuple():
            return any(map(_is_open_value, value))
        case _:
            return False


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
