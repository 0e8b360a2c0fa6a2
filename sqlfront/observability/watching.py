"""The function that makes the watchers for which a session's configuration asks."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlfront.config import Config
from sqlfront.observability.history import History
from sqlfront.observability.observer import Observer
from sqlfront.observability.statement_log import StatementLog
from sqlfront.observability.tracing.availability import check_tracing
from sqlfront_cluster.members.member import Member
from sqlfront_engine.engine import Engine
from sqlfront_planner.plan_cache import PlanCache
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront.observability.metrics import endpoint as endpoints
    from sqlfront.observability.tracing import statement_spans as spans
    from sqlfront.state.plans import Plan
else:
    spans = lazy_module("sqlfront.observability.tracing.statement_spans")
    endpoints = lazy_module("sqlfront.observability.metrics.endpoint")


def observer_of(
    config: Config, runner: Engine | Member, plans: "PlanCache[Plan]", settings: Callable[[], Settings]
) -> Observer:
    """Make the observer of a new session, with the watchers for which ``config`` asks. ``runner``: the engine
    or member that runs the session's jobs; ``plans``: the plan cache; ``settings`` returns the session's
    current settings. Raises ProgrammingError or OperationalError if a watcher can't be made, for example
    since a library is missing."""
    observer, literals = Observer(), config.show_literals
    if config.query_history:
        observer.add(History(config.query_history, observer, runner, literals=literals))
    if config.slow_query is not None:
        observer.add(StatementLog(config.slow_query, literals=literals))
    if config.tracing:
        check_tracing()
        observer.add(spans.StatementSpans(settings, literals=literals))
    if config.metrics is not None:
        metrics = endpoints.SessionMetrics(config.metrics, observer, runner, plans)
        observer.metrics_address = metrics.address
        observer.add(metrics)
    return observer
