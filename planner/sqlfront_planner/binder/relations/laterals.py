"""Binding of relations that read the relations before them: LATERAL VIEW, and LATERAL before a generator."""

import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.binder.expressions.arguments import function_name
from sqlfront_planner.binder.expressions.columns import unresolved
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.generator_calls import GeneratorCall, generator_of, table_generator_of
from sqlfront_planner.binder.generators import bind_generator, renamed
from sqlfront_planner.binder.names import spark_functions
from sqlfront_planner.binder.outer_columns import refuse_correlated
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.relations import joins, lateral_subqueries
from sqlfront_planner.binder.scope import ONE_ROW, Relation, Scope, ScopeColumn
from sqlfront_planner.binder.trees.handlers import (
    failure,
    parts_of,
    refuse_unknown,
    unparenthesized,
    unsupported,
)
from sqlfront_planner.expressions.rewriting import columns_to_outer
from sqlfront_planner.lateral_joins import LateralSubquery, LogicalLateralJoin
from sqlfront_planner.logical import LogicalFilter, LogicalGenerate, LogicalPlan
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import columns_used
from sqlfront_values.types import VOID


def lateral_view(queries: Queries, source: Relation, node: exp.Lateral, parent: Scope | None) -> Relation:
    """Bind ``LATERAL VIEW [OUTER] generator(...) t AS a, b`` behind the relation ``source``."""
    refuse_unknown(node, frozenset({"this", "view", "outer", "alias"}))
    call = _generator(node.this)
    alias = node.args["alias"]
    refuse_unknown(alias, frozenset({"this", "columns"}))
    names = [column.name for column in alias.args.get("columns") or []]
    bound = _bound(queries, source, call, parent, Clause.LATERAL_VIEW)
    bound = renamed(bound, names, node)
    # No word is reserved: in LATERAL VIEW explode(a) AS x the name of the view is AS.
    qualifier = "as" if alias.this is None else alias.this.name.lower()
    return _joined(source, bound, qualifier, outer=bool(node.args.get("outer")))


def _generator(node: exp.Expr) -> exp.Anonymous:
    """Return the generator that a LATERAL VIEW calls. Raises UNSUPPORTED_GENERATOR.NOT_GENERATOR and
    ROUTINE_NOT_FOUND."""
    if not isinstance(node, exp.Anonymous):
        raise unsupported("A qualified function in LATERAL VIEW", node)
    call = generator_of(node)
    if call is not None:
        return call
    name = function_name(node)
    if name in spark_functions.CALLABLE:
        raise failure(
            "UNSUPPORTED_GENERATOR.NOT_GENERATOR",
            f"The generator is not supported: `{name}` is expected to be a generator. However, its class is "
            "not a generator.",
            node,
        )
    raise failure("ROUTINE_NOT_FOUND", f"The routine `{name}` cannot be found.", node)


def _bound(
    queries: Queries, source: Relation, call: exp.Anonymous, parent: Scope | None, clause: Clause
) -> GeneratorCall:
    bound = bind_generator(ExpressionBinder(queries, source.scope(parent), clause), call)
    if any(argument.find(exp.Query) is not None for argument in call.expressions):
        for argument in bound.arguments:
            refuse_correlated(argument, "in a generator of FROM", call)
    return bound


def _joined(source: Relation, call: GeneratorCall, qualifier: str, *, outer: bool) -> Relation:
    """Return the rows of ``source``, each with the rows made of it, whose columns have the ``qualifier``
    (empty = none)."""
    if outer:
        call = call.as_outer()
    plan = call.over(source.plan)
    made = plan.row()[source.plan.width :]
    parts = (qualifier,) if qualifier else ()
    return Relation(plan, (*source.columns, *(ScopeColumn(column.name, column, parts) for column in made)))


def table_of_generator(queries: Queries, call: exp.Anonymous, node: exp.Expr) -> Relation:
    """Bind a generator as a table function that reads no relation. ``node`` is the item of FROM, which has
    the alias."""
    source = Relation(ONE_ROW, ())
    binder = ExpressionBinder(queries, source.scope(queries.enclosing), Clause.TABLE_FUNCTION)
    return _joined(source, *_aliased(bind_generator(binder, call), node), outer=False)


def _aliased(call: GeneratorCall, node: exp.Expr) -> tuple[GeneratorCall, str]:
    """Return the call with the columns named by the alias of ``node``, and the alias's name (empty = none).
    Raises NUM_TABLE_VALUE_ALIASES_MISMATCH."""
    alias = node.args.get("alias")
    if alias is None:
        return call, ""
    refuse_unknown(alias, frozenset({"this", "columns"}))
    names = [column.name for column in alias.args.get("columns") or []]
    if names and len(names) != len(call.names):
        raise failure(
            "NUM_TABLE_VALUE_ALIASES_MISMATCH",
            "Number of given aliases does not match number of output columns.\nFunction name: "
            f"`{call.function}`; number of aliases: {len(names)}; number of output columns: "
            f"{len(call.names)}.",
            node,
        )
    return renamed(call, names, node), "" if alias.this is None else alias.this.name.lower()


def lateral_table(queries: Queries, source: Relation | None, node: exp.Lateral) -> Relation:
    """Bind ``source, LATERAL generator(...) AS t(a, b)``; ``source`` is None for the first item of FROM."""
    refuse_unknown(node, frozenset({"this", "alias"}))
    call = table_generator_of(node.this)
    if call is None:
        raise _no_generator(node)
    if source is None:
        return table_of_generator(queries, call, node)
    try:
        # The arguments read the row beside, not that of the query around this query.
        bound = _bound(queries, source, call, None, Clause.TABLE_FUNCTION)
    except ProgrammingError as error:
        raise without_suggestion(error, source.scope(), call) from None
    return _joined(source, *_aliased(bound, node), outer=False)


def without_suggestion(error: ProgrammingError, scope: Scope, call: exp.Anonymous) -> ProgrammingError:
    """Return the error; for an unknown column an error that suggests no names, as Spark's behind LATERAL."""
    if not (error.condition or "").startswith("UNRESOLVED_COLUMN"):
        return error
    unknown = (column for column in call.find_all(exp.Column) if scope.resolve(parts_of(column)) is None)
    column = next(unknown, None)
    if column is None:
        return error
    found = unresolved([], parts_of(column), column)
    return found if isinstance(found, ProgrammingError) else error


def _holds_map(kind: pa.DataType) -> bool:
    """Return whether values of the type are or contain maps."""
    if pa.types.is_map(kind):
        return True
    if pa.types.is_list(kind):
        return _holds_map(kind.value_type)
    return pa.types.is_struct(kind) and any(_holds_map(field.type) for field in kind)


def _no_generator(node: exp.Lateral) -> Error:
    name = function_name(node.this)
    if name in spark_functions.IN_FROM or name in spark_functions.CALLABLE:
        return unsupported(f"LATERAL before {name}", node)
    return failure(
        "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        f"Could not resolve `{name}` to a table-valued function.",
        node,
    )


def lateral_join(queries: Queries, source: Relation, join: exp.Join, parent: Scope | None) -> Relation:
    """Bind ``source [LEFT] JOIN LATERAL generator(...) AS t(a, b) [ON condition]``.

    A LEFT JOIN without condition keeps no row without generated rows: Spark's optimizer makes it an inner
    join. Raises the errors of :func:`.lateral_subqueries.lateral_kind`.
    """
    kind = lateral_subqueries.lateral_kind(join)
    condition = join.args.get("on")
    joined = lateral_table(queries, source, join.this)
    if condition is None or not lateral_subqueries.is_written(condition):
        return joined
    generate = joined.plan
    assert isinstance(generate, LogicalGenerate)
    read = {column for argument in generate.arguments for column in columns_used(argument)}
    if any(_holds_map(source.plan.row()[place].type) for place in read):
        raise unsupported("LATERAL of a map with a condition", join)  # an error in Spark
    plain = unparenthesized(condition)
    if kind is JoinKind.LEFT and isinstance(plain, exp.Boolean) and plain.this:
        return Relation(replace(generate, outer=True), joined.columns)
    bound = joins.join_condition(queries, joined, condition, parent, source.plan.width, is_lateral=True)
    if kind is JoinKind.LEFT:
        rows = LateralSubquery(VOID, _rows_of(generate))
        return Relation(LogicalLateralJoin(source.plan, rows, kind, bound), joined.columns)
    return Relation(LogicalFilter(generate, bound), joined.columns)


def _rows_of(generate: LogicalGenerate) -> LogicalPlan:
    """Return the generated rows alone, as the plan of a subquery that reads the generator's input row."""
    arguments = tuple(map(columns_to_outer, generate.arguments))
    return replace(generate, input=ONE_ROW, arguments=arguments)
