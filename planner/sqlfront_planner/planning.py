"""The planner's way from a statement to a plan that can run: bind, optimize, lower."""

from sqlfront_engine.scheduler import available_cores
from sqlfront_engine.settings import Settings
from sqlfront_planner.binder import Arguments, BindSettings, bind
from sqlfront_planner.binder.context import NO_ARGUMENTS
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.lanes import EXCHANGE_WORKERS, Regime, choose, input_size
from sqlfront_planner.logical import LogicalPlan, Scan
from sqlfront_planner.lowering import lower
from sqlfront_planner.optimizer import optimize
from sqlfront_planner.plan import QueryPlan, SharedPlan, Template, template_of
from sqlfront_planner.shared_rows import (
    SharedRows,
    inline_single_uses,
    rewrite_shared,
    scan_of,
    shared_rows,
    shared_scan,
)
from sqlfront_planner.statement import Query
from sqlfront_planner.statistics.cardinality import Cardinality


def plan_query(
    query: Query,
    catalog: Catalog,
    settings: BindSettings,
    arguments: Arguments = NO_ARGUMENTS,
    workers: int | None = None,
) -> QueryPlan:
    """The plan of a query: bound to the catalog's tables, optimized, lowered to a DAG for an engine of so
    many workers (None = one per core).

    Raises ProgrammingError for what is wrong with the text, NotSupportedError for what is not built,
    DataError for a constant that can't be computed.
    """
    bound = bind(query, catalog, settings, arguments)
    return plan_logical(bound, settings.evaluation, workers)


def plan_logical(bound: LogicalPlan, settings: Settings, workers: int | None = None) -> QueryPlan:
    """The plan of a bound query, for an engine of so many workers (None = one per core)."""
    optimized = _optimize_all(bound, settings)
    tables = shared_rows(optimized)
    cardinality = Cardinality()
    size = input_size((optimized, *(table.plan for table in tables)), cardinality)
    choice = choose(size)
    exchange = (available_cores() if workers is None else workers) >= EXCHANGE_WORKERS
    parallel = choice.regime is Regime.PARALLEL

    def template(plan: LogicalPlan) -> Template:
        return template_of(lower(plan, cardinality, parallel=parallel, exchange=exchange))

    return QueryPlan(
        template=template(optimized),
        schema=bound.schema,
        lane=choice.lane,
        regime=choice.regime,
        reason=choice.reason,
        input_rows=size.rows,
        input_size=size.size,
        bound=bound,
        optimized=optimized,
        shared=tuple(SharedPlan(table.key, table.name, template(table.plan), table.plan) for table in tables),
    )


def _optimize_all(bound: LogicalPlan, settings: Settings) -> LogicalPlan:
    """The optimized plan over optimized shared rows; those that one scan reads are none any more."""
    done: set[str] = set()

    def place(table: SharedRows, plan: LogicalPlan) -> Scan:
        if table.key in done:
            return scan_of(table)
        scan = shared_scan(table.name, rewrite_shared(optimize(plan, settings), place))
        done.update(part.key for part in shared_rows(scan))
        return scan

    separate = rewrite_shared(inline_single_uses(bound), place)
    return rewrite_shared(optimize(separate, settings), place)
