"""The function that decides the way (lane, reason and work) of every statement."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from sqlfront.lanes.request import FOR_SPARK, Cause, Replan, StatementRequest
from sqlfront.lanes.rows import RowsWay
from sqlfront.state.plans import InsertPlan, MergePlan
from sqlfront_engine.garbage import uncollected_if_long
from sqlfront_planner.binder import bind_query
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.plan_cache import with_literals
from sqlfront_planner.planning import plan_logical, plan_small
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.identifier_clauses import may_have_clauses
from sqlfront_planner.statements.immediate_structs import ExecuteImmediate
from sqlfront_planner.statements.structs import Explain, Query
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.commands import durable_way, immediate, ways
    from sqlfront.lanes import light
    from sqlfront.lanes.way import QueryWay, Way
    from sqlfront.observability.observation import Observation
    from sqlfront.state.context import Context
    from sqlfront.state.plans import Plan
    from sqlfront_planner.logical import LogicalPlan
    from sqlfront_planner.statements.structs import Statement
else:
    durable_way = lazy_module("sqlfront.commands.durable_way")
    immediate = lazy_module("sqlfront.commands.immediate")
    light = lazy_module("sqlfront.lanes.light")
    ways = lazy_module("sqlfront.commands.ways")


def decide(request: StatementRequest, context: "Context", replan: Replan | None = None) -> "Way":
    """Decide the way of a statement: the lane, the reason that EXPLAIN prints, and the work to run. The
    statement isn't run, but a new plan is cached; changes of names and settings in the Spark session are read
    first. ``replan``: the outcome of the way that was tried before, None = no way was tried. Raises the error
    of a statement that neither this session nor Spark can run."""
    if request.held is not None and replan is None:
        return _way_of(*request.held, context)
    spark = context.spark
    if spark is None:
        return _own_way(request, context, replan)
    way = spark.way(request, replan)
    if way is not None:
        return way
    try:
        return _own_way(request, context, replan)
    except FOR_SPARK as error:
        return spark.way_after(error, request, replan)


def _own_way(request: StatementRequest, context: "Context", replan: Replan | None) -> "Way":
    """Return the way of a statement that this session runs without Spark: by a cached plan, by a new plan, or
    as a command. ``replan``: as of :func:`decide`. Raises NotSupportedError if the session can't run the
    statement."""
    if replan is not None and replan.cause in (Cause.NO_MEMORY, Cause.PARTS_TOO_LARGE):
        return durable_way.planned_after(replan, request, context)
    text, arguments = request.text, request.arguments
    by_rows = replan is None or replan.cause is not Cause.NOT_BY_ROWS
    if by_rows and request.parsed is None:
        found = context.plans.find(text, arguments, context.plan_key, context.catalog)
        if found is not None:
            cached, literals = found
            values = (*arguments.values, *literals) if literals else arguments.values
            return _way_of(cached.plan, values, context)
    if request.parsed is None and may_have_clauses(text):
        named = immediate.named_request(request, context)
        if named is not None:
            return immediate.InnerWay(context, named, decide(named, context, replan))
    with context.watched(request.query), uncollected_if_long(text):
        statement = request.parsed or _parsed(text, request.observation)
        if isinstance(statement, Query):
            return _planned(statement, request, context, by_rows=by_rows)
    if isinstance(statement, Explain):
        inner = replace(request, text=statement.query.text, parsed=statement.query)
        return ways.ExplainWay(context, statement, cast("QueryWay", decide(inner, context, replan)))
    if isinstance(statement, ExecuteImmediate):
        made, assigns = immediate.immediate_request(statement, request, context)
        way = decide(made, context, replan) if assigns is None else ways.CommandWay(context, assigns)
        return immediate.InnerWay(context, made, way)
    return ways.CommandWay(context, statement)


def _parsed(text: str, observation: "Observation | None") -> "Statement":
    """Parse a text; the ``observation``, if any, counts the time."""
    return parse(text) if observation is None else observation.in_parse(partial(parse, text))


def _planned(query: Query, request: StatementRequest, context: "Context", *, by_rows: bool) -> "Way":
    """Plan a query, cache the plan unless a setting has changed meanwhile, and return the way that runs the
    plan. ``by_rows``: whether the plan may be a row program; False after a row program has met too many rows.
    The plan of a durable job is not cached, nor is a plan if the request brings the query already parsed, as
    for EXPLAIN."""
    if context.options.lane == Lane.DURABLE:
        return durable_way.planned(query, request, context)
    arguments, key, version = request.arguments, context.plan_key, context.catalog.version
    if request.observation is not None:
        request.observation.plan_cached = False
    keeps = request.parsed is None
    given = with_literals(query.sql, arguments) if keeps else arguments
    binding = bind_query(query, context.catalog, context.bind_settings, given)
    values = binding.arguments.values
    plan = plan_small(binding, context.settings, context.target) if by_rows else None
    if plan is None:
        plan = plan_logical(binding.plan, context.settings, context.target)
    if context.jobs is not None and context.spark is None and isinstance(plan, QueryPlan):
        durable = durable_way.planned_if_large(plan, query, request, context)
        if durable is not None:
            return durable
    if keeps and context.is_settled(key):
        pins = isinstance(plan, QueryPlan)
        context.plans.add(query.sql, arguments, key, binding, plan, pins=pins, catalog_version=version)
    return _way_of(plan, values, context, binding.plan)


def _way_of(
    plan: "Plan", values: Sequence[object], context: "Context", bound: "LogicalPlan | None" = None
) -> "Way":
    """Return the way that runs the plan with these ``values`` of its parameters. ``bound``: the logical plan,
    which EXPLAIN shows. Raises NotSupportedError if Spark should run the query, since its input is too large
    for the members."""
    if isinstance(plan, RowPlan):
        return RowsWay(context, plan, values, bound)
    if isinstance(plan, QueryPlan):
        if context.spark is not None:
            context.spark.check_size(plan.input_size)
        return light.LightWay(context, plan, values)
    if isinstance(plan, InsertPlan):
        return ways.InsertWay(context, values, plan)
    if isinstance(plan, MergePlan):
        return ways.MergeWay(context, values, plan)
    return ways.ChangeWay(context, plan, values)
