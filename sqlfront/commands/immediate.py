"""Statements whose text is made when they run: EXECUTE IMMEDIATE, and statements with the clause
IDENTIFIER."""

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from sqlglot import exp

from sqlfront.commands.run import StatementRun
from sqlfront.commands.variables import evaluated
from sqlfront.lanes.own import OwnWay
from sqlfront.lanes.request import Replan, StatementRequest
from sqlfront_planner.binder import Arguments
from sqlfront_planner.binder.names.routine_arguments import expression_of
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.catalog import FoundElsewhere
from sqlfront_planner.lanes import Lane
from sqlfront_planner.statement import is_query
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.identifier_clauses import IdentifierClause, identifier_clauses, with_names
from sqlfront_planner.statements.immediate_structs import ExecuteImmediate
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.variable_structs import SetVariables
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_planner.variables import unqualified
from sqlfront_values import types
from sqlfront_values.errors import Error, ProgrammingError, spark_error

if TYPE_CHECKING:
    from sqlfront.lanes.way import Way
    from sqlfront.results.result import Result
    from sqlfront.state.context import Context


_CONSTANT: Final = (
    "To be considered constant the expression must not depend on any columns, contain a subquery, or invoke "
    "a non deterministic function such as rand()."
)


class InnerWay(OwnWay, eq=False, gc=False):
    """The way of a statement that another statement stands for: ``way`` is the way of the ``inner``
    request."""

    inner: StatementRequest
    way: "Way"

    @property
    def lane(self) -> Lane:
        """Return the lane of the inner statement."""
        return self.way.lane

    @property
    def reason(self) -> str:
        """Return the reason for the lane of the inner statement."""
        return self.way.reason

    def run(self, request: StatementRequest) -> "Result | Replan":
        """Run the inner statement with the run of the outer one, and return its result."""
        return self.way.run(replace(self.inner, query=request.query or self.inner.query))

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan by which the inner statement gets another way after ``error``."""
        return self.way.after(error, self.inner)


def immediate_request(
    statement: ExecuteImmediate, request: StatementRequest, context: "Context"
) -> tuple[StatementRequest, SetVariables | None]:
    """Return the request of the statement that EXECUTE IMMEDIATE runs, with the values of USING as arguments;
    and for INTO the statement that assigns the query's row, else None.

    Raises INVALID_EXPR_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE for a text of another type,
    UNSUPPORTED_EXPR_FOR_PARAMETER for subqueries, INVALID_STATEMENT_FOR_EXECUTE_INTO, and the errors of the
    expressions. With a Spark session beside, raises FoundElsewhere: Spark keeps the variables."""
    if context.spark is not None:
        raise FoundElsewhere("With a Spark session beside, Spark keeps the variables")
    run = StatementRun(context, request)
    _refuse_subqueries(statement.text)
    (kind,), row = evaluated(run, f"SELECT ({statement.text}\n) AS text")
    text = row[0]
    if not types.is_string(kind):
        raise spark_error(
            "INVALID_EXPR_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE",
            f'Expression type must be string type but got "{types.sql_name(kind)}".',
        )
    if not isinstance(text, str):
        raise spark_error(
            "NULL_QUERY_STRING_EXECUTE_IMMEDIATE",
            f"Execute immediate requires a non-null variable as the query string, but the provided variable "
            f"{statement.text} is null.",
        )
    text = context.usual(text)
    arguments = context.variables.added_to(
        _arguments(run, statement.using, text, tokens_of(statement.text).kinds.count("?"))
    )
    inner = replace(request, text=text, arguments=arguments, parsed=None)
    if not statement.into:
        return inner, None
    for name in statement.into:
        if context.variables.find(unqualified(name_parts(name))[0]) is None:
            shown = quoted(name_parts(name))
            raise spark_error(
                "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
                f"A column, variable, or function parameter with name {shown} cannot be resolved.",
            )
    if not is_query(text):
        raise spark_error(
            "INVALID_STATEMENT_FOR_EXECUTE_INTO",
            "The INTO clause of EXECUTE IMMEDIATE is only valid for queries but the given statement is not a "
            f"query: {text.upper()}.",
        )
    return inner, SetVariables(statement.into, query=text)


def _refuse_subqueries(expressions: str) -> None:
    if parse_query(f"SELECT {expressions}").tree.find(exp.Subquery, exp.Exists) is not None:
        raise spark_error(
            "UNSUPPORTED_EXPR_FOR_PARAMETER",
            "A query parameter contains unsupported expression. Parameters can either be variables or "
            f'literals. Invalid expression: ["{expressions}"]',
        )


def _arguments(run: StatementRun, using: str, text: str, before: int) -> Arguments:
    """Return the values of USING as arguments of the statement ``text``, by name if the statement's
    parameters have names. ``before``: the number of parameters ``?`` before USING."""
    kinds = tokens_of(text).kinds
    by_position = "?" in kinds
    by_name = any(kind == ":" and _begins_parameter(kinds, place) for place, kind in enumerate(kinds))
    if not using:
        return Arguments()
    _refuse_subqueries(using)
    items = parse_query(f"SELECT {using}").tree
    assert isinstance(items, exp.Select)
    names = [item.alias if isinstance(item, exp.Alias) else "" for item in items.expressions]
    given = [name for name in names if name]
    if len(set(given)) < len(given):
        repeated = next(name for name in given if given.count(name) > 1)
        raise spark_error(
            "EXEC_IMMEDIATE_DUPLICATE_ARGUMENT_ALIASES",
            "The USING clause of this EXECUTE IMMEDIATE command contained multiple arguments with same alias "
            f"(`{repeated}`), which is invalid; please update the command to specify unique aliases and then "
            "try it again.",
        )
    if by_position and by_name:
        raise spark_error(
            "INVALID_QUERY_MIXED_QUERY_PARAMETERS",
            "Parameterized query must either use positional, or named parameters, but not both.",
        )
    if by_name and len(given) < len(names):
        missing = ", ".join(
            f'"{item.sql("spark")}"' for item, name in zip(items.expressions, names, strict=True) if not name
        )
        raise spark_error(
            "ALL_PARAMETERS_MUST_BE_NAMED",
            "Using name parameterized queries requires all parameters to be named. Parameters missing names: "
            f"{missing}.",
        )
    types_of, row = evaluated(run, f"SELECT {using}", before)
    if not by_name:
        return Arguments(tuple(row), tuple(types_of))
    pairs = sorted(zip(names, row, types_of, strict=True), key=lambda pair: pair[0])
    return Arguments(
        tuple(value for _, value, _ in pairs),
        tuple(kind for _, _, kind in pairs),
        tuple(name for name, _, _ in pairs),
    )


def _begins_parameter(kinds: list[str], place: int) -> bool:
    """Return whether the colon at ``place`` begins a parameter, and is no field's in ``struct<a: int>``."""
    before = kinds[place - 1] if place else ""
    return before[:1] in ("", "(", ",", "=", "<", ">", "+", "-", "*", "/", "%", "|", "&") or (
        before in _BEFORE_PARAMETER
    )


#: Words that may stand before a parameter ``:name``.
_BEFORE_PARAMETER = frozenset(
    {
        "SELECT",
        "WHERE",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "LIMIT",
        "OFFSET",
        "BETWEEN",
        "THEN",
        "ELSE",
        "WHEN",
    }
    | {
        "CASE",
        "BY",
        "ON",
        "HAVING",
        "VALUES",
        "INTERVAL",
        "DISTINCT",
        "IS",
        "DEFAULT",
        "USING",
        "<>",
        "!=",
        ">=",
        "<=",
    }
)


def named_request(request: StatementRequest, context: "Context") -> StatementRequest | None:
    """Return the request of the same statement with names in place of the clauses IDENTIFIER; None if the
    text has no such clause. Raises NOT_A_CONSTANT_STRING for an expression that is no constant string."""
    clauses = identifier_clauses(request.text)
    if not clauses:
        return None
    names = [_name(clause, request, context) for clause in clauses]
    text = with_names(request.text, clauses, names)
    return replace(request, text=text, arguments=_without(request.arguments, clauses), parsed=None)


def _name(clause: IdentifierClause, request: StatementRequest, context: "Context") -> str:
    """Return the value of a clause's expression."""
    shown = clause.expression.strip()
    if expression_of(f"({clause.expression}\n)").find(exp.Query) is not None:
        raise _no_constant("NOT_CONSTANT", shown, _CONSTANT)
    try:
        run = StatementRun(context, request)
        (kind,), row = evaluated(run, f"SELECT ({clause.expression}\n) AS name", clause.before)
    except ProgrammingError as error:
        if (error.condition or "").startswith("UNRESOLVED_COLUMN"):
            raise _no_constant("NOT_CONSTANT", shown, _CONSTANT) from None
        raise
    if not types.is_string(kind):
        raise _no_constant("WRONG_TYPE", shown, f"The data type of the expression is {types.ddl(kind)}.")
    if not isinstance(row[0], str):
        raise _no_constant("NULL", shown, "The expression evaluates to NULL.")
    return row[0]


def _no_constant(detail: str, shown: str, message: str) -> Error:
    return spark_error(
        f"NOT_A_CONSTANT_STRING.{detail}",
        f"The expression {shown} used for the routine or clause IDENTIFIER must be a constant STRING which "
        f"is NOT NULL. {message}",
    )


def _without(arguments: Arguments, clauses: list[IdentifierClause]) -> Arguments:
    """Return the arguments without those of the parameters ``?`` in the clauses."""
    used = {clause.before + place for clause in clauses for place in range(clause.within)}
    if not used or arguments.names is not None:
        return arguments
    kept = [place for place in range(len(arguments.values)) if place not in used]
    return replace(
        arguments,
        values=tuple(arguments.values[place] for place in kept),
        types=tuple(arguments.types[place] for place in kept),
    )
