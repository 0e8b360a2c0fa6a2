"""Queries of a session: new queries are planned, repeated queries run by their cached plan."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from sqlfront.result import Result, RowsResult
from sqlfront_engine.garbage import uncollected_if_long
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.binder import Arguments, bind_query
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.plan_cache import PlanCache, with_literals
from sqlfront_planner.planning import plan_logical, plan_small
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_planner.statement import Query, Statement, parse
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.commands import changes
    from sqlfront.session import Session
else:
    changes = lazy_module("sqlfront.commands.changes")

#: A program over a few rows, a job, or a change of the rows that a program or job gives.
Plan: TypeAlias = "RowPlan | QueryPlan | changes.ChangePlan"


class SessionQueries:
    """A planner and runner of a session's queries that keeps their plans. Safe to use from several
    threads."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        #: The cached plans.
        self.plans: PlanCache[Plan] = PlanCache(session.config.plan_cache)

    @property
    def key(self) -> object:
        """The values that a plan depends on besides the text, the arguments and the text's relations: the
        settings and, in a cluster, the version of the partitions' owners."""
        session = self._session
        if session.cluster is None:
            return session.options.key
        return session.options.key, session.cluster.member_list.dealt

    def is_settled(self, key: object) -> bool:
        """Whether no setting has changed since ``key`` was taken, and no change is in progress."""
        settings = self._session.options.key
        taken = key[0] if self._session.cluster is not None and isinstance(key, tuple) else key
        return settings is not None and taken is settings

    def execute(
        self, text: str, arguments: Arguments, timeout: float | None, query: QueryRun | None
    ) -> Result | Statement:
        """Run a query. A statement of another kind is parsed and returned."""
        found = self.plans.find(text, arguments, self.key, self._session.catalog)
        if found is not None:
            cached, literals = found
            values = (*arguments.values, *literals) if literals else arguments.values
            return self.run(text, cached.plan, values, arguments, timeout, query)
        query = self._session.limited(text, timeout, query)
        with self._session.watched(query), uncollected_if_long(text):
            statement = parse(text)
            if not isinstance(statement, Query):
                return statement
            plan, values = self._plan(statement, arguments, by_rows=True)
        return self.run(text, plan, values, arguments, timeout, query)

    def _plan(
        self, statement: Query, arguments: Arguments, *, by_rows: bool
    ) -> tuple[Plan, tuple[object, ...]]:
        """Plan a query. Return the plan, which is cached unless a setting has changed meanwhile, and the
        values of its parameters."""
        session, key = self._session, self.key
        catalog, text = session.catalog, statement.sql
        version = catalog.version
        binding = bind_query(statement, catalog, session.bind_settings, with_literals(text, arguments))
        plan = (
            plan_small(binding, session.settings, session.target)
            if by_rows
            else plan_logical(binding.plan, session.settings, session.target)
        )
        pins = isinstance(plan, QueryPlan)
        if self.is_settled(key):
            self.plans.add(text, arguments, key, binding, plan, pins=pins, catalog_version=version)
        return plan, binding.arguments.values

    def run(
        self,
        text: str,
        plan: Plan,
        values: Sequence[object],
        arguments: Arguments,
        timeout: float | None,
        query: QueryRun | None,
    ) -> Result:
        """Run a query by a current plan. ``values`` are the values of the plan's parameters: the
        ``arguments``, then the text's literals that are parameters."""
        session = self._session
        if isinstance(plan, RowPlan):
            if session.cluster is not None:
                query = session.limited(text, timeout, query)
            began, settings = time.perf_counter(), session.options.settings
            try:
                rows = plan.rows(values, settings, query)
            except NotByRows:  # run as a job, now and for repeats
                statement = parse(text)
                assert isinstance(statement, Query)
                plan, values = self._plan(statement, arguments, by_rows=False)
            else:
                return RowsResult(plan, values, rows, settings, time.perf_counter() - began)
        if not isinstance(plan, QueryPlan):
            assert not isinstance(plan, RowPlan)
            return changes.change_again(session, text, plan, values, arguments, timeout, query)
        if session.spark is not None:
            session.spark.check_size(plan.input_size)
        return session.run(plan, values, timeout=timeout, query=query or session.begin(text))
