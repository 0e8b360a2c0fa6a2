"""The path from a statement to an executable plan: bind, optimize, lower."""

from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront_engine.scheduler import available_cores
from sqlfront_planner import lowering
from sqlfront_planner.binder import Arguments, Binding, BindSettings, bind_query
from sqlfront_planner.binder.context import NO_ARGUMENTS
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.lanes import COLLECT_ROWS, Regime, choose, input_size
from sqlfront_planner.logical import LogicalPlan, LogicalScan, Subquery
from sqlfront_planner.lowering import StorageTarget
from sqlfront_planner.optimizer import constructs, optimize
from sqlfront_planner.plan import QueryPlan, Template, template_of
from sqlfront_planner.pruning import MOST_KEYS
from sqlfront_planner.pruning.scans import KeyConditions
from sqlfront_planner.recursion import LogicalRecursion
from sqlfront_planner.row_compiler.compile import row_plan
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.shared_rows import (
    SharedRows,
    has_shared_rows,
    inline_single_uses,
    rewrite_shared,
    scan_of,
    shared_rows,
    shared_scan,
)
from sqlfront_planner.statements.structs import Query
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront_planner import shared_plans
else:
    shared_plans = lazy_module("sqlfront_planner.shared_plans")

#: With fewer workers, routing rows to the instance of their key costs more than the instances save: measured
#: on TPC-H at scale 1 with two workers, half of the CPU time of the queries with such routing.
EXCHANGE_WORKERS: Final = 4


class PlanTarget(msgspec.Struct, frozen=True):
    """The cluster that a plan is made for: members with ``workers`` workers each (None = one per core).

    ``distributed``: the plan may run on all members of the cluster, else only on the member in this
    process. ``collect_rows``: an input with at most that many estimated rows is collected on the
    coordinator instead of being exchanged between members. ``most_keys``: the greatest number of keys of a
    table that a scan looks up; with 0 all scans read without keys. ``divides``: memory is short, so that all
    rows that an operator holds are divided among the members, even few rows (``collect_rows`` is ignored)."""

    workers: int | None = None
    distributed: bool = False
    collect_rows: float = COLLECT_ROWS
    most_keys: int = MOST_KEYS
    divides: bool = False


ONE_MEMBER: Final = PlanTarget()
#: A bound plan without any of these constructs has no shared rows after optimization.
_SHARED: Final = frozenset({SharedRows, Subquery})


def plan_query(
    query: Query,
    catalog: Catalog,
    settings: BindSettings,
    arguments: Arguments = NO_ARGUMENTS,
    target: PlanTarget = ONE_MEMBER,
) -> QueryPlan:
    """Plan a query as a job: bind it to the catalog's tables, optimize, lower to a DAG for the target.

    Raises ProgrammingError for an invalid query, NotSupportedError for features that aren't implemented,
    DataError for a constant that can't be computed.
    """
    binding = bind_query(query, catalog, settings, arguments)
    return plan_logical(binding.plan, settings.evaluation, target)


def plan_small(binding: Binding, settings: Settings, target: PlanTarget = ONE_MEMBER) -> RowPlan | QueryPlan:
    """Plan a bound query as a row program if the query qualifies, else as a job. The estimates use the values
    that the parameters have in ``binding``; with other values the plan is still correct, if perhaps slower.
    """
    optimized = optimize_all(binding.plan, settings)
    rows = _plan_rows(binding, optimized, settings, target)
    return rows or _plan_optimized(binding.plan, optimized, settings, target, None)


def plan_rows(binding: Binding, settings: Settings, target: PlanTarget = ONE_MEMBER) -> RowPlan | None:
    """Plan a bound query as a row program. Return None if the query needs a job."""
    return _plan_rows(binding, optimize_all(binding.plan, settings), settings, target)


def _plan_rows(
    binding: Binding, optimized: LogicalPlan, settings: Settings, target: PlanTarget
) -> RowPlan | None:
    # Shared rows have no keys: a plan that reads them is lowered to None anyway.
    return row_plan(optimized, binding.plan.schema, settings, binding.titles, target.most_keys)


def plan_logical(
    bound: LogicalPlan,
    settings: Settings,
    target: PlanTarget = ONE_MEMBER,
    store: StorageTarget | None = None,
) -> QueryPlan:
    """Plan a bound query as a job. With ``store``, which requires a cluster, the members store the query's
    rows in a table, and the result holds each member's report of the stored rows; with None, the result
    holds the query's rows."""
    return _plan_optimized(bound, optimize_all(bound, settings), settings, target, store)


def _plan_optimized(
    bound: LogicalPlan,
    optimized: LogicalPlan,
    settings: Settings,
    target: PlanTarget,
    store: StorageTarget | None,
) -> QueryPlan:
    tables = shared_rows(optimized)
    cardinality = Cardinality()
    conditions = KeyConditions(settings, target.most_keys)
    size = input_size((optimized, *(table.plan for table in tables)), cardinality, conditions)
    choice = choose(size)
    exchange = (available_cores() if target.workers is None else target.workers) >= EXCHANGE_WORKERS
    parallel = choice.regime is Regime.PARALLEL

    def template(plan: LogicalPlan, store: StorageTarget | None = None) -> Template:
        if target.distributed and (size.tables or store is not None):
            lowered = lowering.lower_distributed(
                plan,
                cardinality,
                parallel=parallel,
                collect_rows=target.collect_rows,
                store=store,
                conditions=conditions,
                divides=target.divides,
            )
            if lowered.distributed:
                return template_of(lowered)
        lowered = lowering.lower(
            plan, cardinality, parallel=parallel, exchange=exchange, conditions=conditions
        )
        return template_of(lowered)

    return QueryPlan(
        template=template(optimized, store),
        schema=bound.schema,
        lane=choice.lane,
        regime=choice.regime,
        reason=choice.reason,
        input_rows=size.rows,
        input_size=size.size,
        bound=bound,
        optimized=optimized,
        shared=shared_plans.shared_plans(optimized, template) if tables else (),
    )


def optimize_all(bound: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Return the optimized plan of a bound query. Subplans whose rows are computed once for several scans are
    optimized, too; such a subplan takes the place of its scan if only one scan reads it."""
    done: set[str] = set()

    def place(table: SharedRows, plan: LogicalPlan) -> LogicalScan:
        if table.key in done:
            return scan_of(table)
        if isinstance(plan, LogicalRecursion):
            plan = shared_plans.optimized_recursion(plan, lambda part: optimize(part, settings))
        else:
            plan = optimize(plan, settings)
        scan = shared_scan(table.name, rewrite_shared(plan, place))
        done.update(part.key for part in shared_rows(scan))
        return scan

    held = constructs(bound)
    if SharedRows in held:
        bound = rewrite_shared(inline_single_uses(bound), place)
        held = constructs(bound)
    optimized = optimize(bound, settings, held)
    if held.isdisjoint(_SHARED) or not has_shared_rows(optimized):
        return optimized
    return rewrite_shared(optimized, place)
