"""DECLARE, SET VARIABLE and DROP VARIABLE: SQL variables of the session."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront.commands.copies import let_go, variable_readers
from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun
from sqlfront_planner.binder import bind_query, routine_creation
from sqlfront_planner.binder.generator_calls import holds_generator
from sqlfront_planner.binder.names.routine_arguments import expression_of
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.catalog import FoundElsewhere, is_session_schema
from sqlfront_planner.coercion import refuse_time
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.variable_structs import DeclareVariable, DropVariable, SetVariables
from sqlfront_planner.variables import SessionVariable
from sqlfront_values.arrow.arrays import to_python
from sqlfront_values.errors import DataError, Error, spark_error
from sqlfront_values.types import ddl

#: Ends a comment that a text may end with.
_END: Final = "\n"
#: The word that stands for a variable's default in SET VARIABLE.
_DEFAULT: Final = "default"
#: Where Spark looks for variables that DECLARE and DROP name, and for those that SET VARIABLE names.
_DECLARED: Final = "[`system`.`session`]"
_ASSIGNED: Final = "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"


def declare(run: StatementRun, statement: DeclareVariable) -> CommandOutcome:
    """DECLARE: add variables, whose first value is that of the default. Raises VARIABLE_ALREADY_EXISTS
    without OR REPLACE, INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION, UNRESOLVED_VARIABLE for another schema than
    ``system.session``, and the errors of the expression and of its cast to the type. With a Spark session
    beside, raises FoundElsewhere: Spark keeps the variables."""
    _leave_to_spark(run)
    variables = run.context.variables
    names = [_local_name(name, _DECLARED) for name in statement.names]
    _check_once(names)
    kind, value = _default(run, statement, names[0])
    for name in names:
        if variables.find(name) is not None and not statement.replaces:
            raise spark_error(
                "VARIABLE_ALREADY_EXISTS",
                f"Cannot create the variable {_whole(name)} because it already exists. Choose a different "
                "name, or drop or replace the existing variable.",
            )
    variables.declare([(SessionVariable(name, kind, statement.default), value) for name in names])
    _changed(run, names)
    return NOTHING


def assign(run: StatementRun, statement: SetVariables) -> CommandOutcome:
    """SET VARIABLE: give variables new values, all at once; NULL if the query has no row. Raises
    UNRESOLVED_VARIABLE, DUPLICATE_ASSIGNMENTS, ASSIGNMENT_ARITY_MISMATCH, ROW_SUBQUERY_TOO_MANY_ROWS, and the
    errors of the expressions and of their casts to the variables' types."""
    _leave_to_spark(run)
    found = [_known(run, name) for name in statement.names]
    names = [variable.name for variable in found]
    _check_once(names)
    if statement.query is None:
        texts = [_value(run, variable, text) for variable, text in zip(found, statement.values, strict=True)]
        source = ", ".join(
            f"({text}\n) AS {quoted((name,))}" for name, text in zip(names, texts, strict=True)
        )
        source = f"SELECT {source}"
    else:
        source = statement.query
    alias = ", ".join(quoted((name,)) for name in names)
    casts = ", ".join(f"CAST({quoted((each.name,))} AS {ddl(each.type)})" for each in found)
    _, rows = _rows(run, f"SELECT {casts} FROM ({source}\n) AS assigned({alias}) LIMIT 2")
    if len(rows) > 1:
        raise DataError(
            "More than one row returned by a subquery used as a row.",
            condition="ROW_SUBQUERY_TOO_MANY_ROWS",
            sqlstate="21000",
        )
    values = rows[0] if rows else (None,) * len(names)
    run.context.variables.assign(dict(zip(map(str.lower, names), values, strict=True)))
    _changed(run, names)
    return NOTHING


def drop(run: StatementRun, statement: DropVariable) -> CommandOutcome:
    """DROP TEMPORARY VARIABLE: remove a variable. Raises VARIABLE_NOT_FOUND unless IF EXISTS is given, and
    UNRESOLVED_VARIABLE for another schema than ``system.session``."""
    _leave_to_spark(run)
    name = _local_name(statement.name, _DECLARED)
    if not run.context.variables.drop(name) and not statement.if_exists:
        raise spark_error("VARIABLE_NOT_FOUND", f"The variable {_whole(name)} cannot be found.")
    _changed(run, [name])
    return NOTHING


def _leave_to_spark(run: StatementRun) -> None:
    if run.context.spark is not None:
        raise FoundElsewhere("With a Spark session beside, Spark keeps the variables")


def _local_name(written: str, path: str) -> str:
    """Return the name of a variable without its qualifier. Raises UNRESOLVED_VARIABLE for another qualifier
    than ``session`` and ``system.session``."""
    parts = name_parts(written)
    if len(parts) > 1 and not is_session_schema(tuple(parts[:-1])):
        raise _unresolved(parts, path)
    return parts[-1]


def _known(run: StatementRun, written: str) -> SessionVariable:
    """Return the variable of a dotted name in SET VARIABLE. Raises UNRESOLVED_VARIABLE."""
    found = run.context.variables.find(_local_name(written, _ASSIGNED))
    if found is None:
        raise _unresolved(name_parts(written), _ASSIGNED)
    return found


def _unresolved(parts: Sequence[str], path: str) -> Error:
    return spark_error(
        "UNRESOLVED_VARIABLE", f"Cannot resolve variable {quoted(tuple(parts))} on search path {path}."
    )


def _whole(name: str) -> str:
    return quoted(("system", "session", name))


def _check_once(names: Sequence[str]) -> None:
    lowered = [name.lower() for name in names]
    repeated = next((name for name in lowered if lowered.count(name) > 1), None)
    if repeated is not None:
        raise spark_error(
            "DUPLICATE_ASSIGNMENTS",
            f"The columns or variables {quoted((repeated,))} appear more than once as assignment targets.",
        )


def _default(run: StatementRun, statement: DeclareVariable, name: str) -> tuple[pa.DataType, object]:
    """Return the type of declared variables, and their first value."""
    if statement.type is not None and not run.context.options.takes_time:
        refuse_time(statement.type)
    if statement.default is None:
        assert statement.type is not None
        return statement.type, None
    tree = expression_of(f"({statement.default}\n)")
    if tree.find(exp.Query) is not None:
        raise spark_error(
            "INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION",
            f"Failed to execute DECLARE VARIABLE command because the destination column or variable "
            f"{_whole(name)} has a DEFAULT value {statement.default}, which contains subquery expressions.",
        )
    if holds_generator(tree):
        raise spark_error(
            "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT",
            "The generator is not supported: outside the SELECT clause, found: DECLARE VARIABLE.",
        )
    if routine_creation.is_complex(tree):
        raise spark_error(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            "The query operator CreateVariable contains one or more unsupported expressions. Consider to "
            "rewrite it to avoid window functions, aggregate functions, and generator functions.",
        )
    text = f"({statement.default}\n)"
    if statement.type is not None:
        text = f"CAST({text} AS {ddl(statement.type)})"
    (kind,), (value,) = evaluated(run, f"SELECT {text} AS value")
    return kind, value


def evaluated(run: StatementRun, text: str, before: int = 0) -> tuple[list[pa.DataType], tuple[object, ...]]:
    """Return the types and the values of the only row of a query made for a statement; values are as literals
    hold them. ``before``: the number of parameters ``?`` in the statement before the query's."""
    kinds, (row,) = _rows(run, text, before)
    return kinds, row


def _value(run: StatementRun, variable: SessionVariable, text: str) -> str:
    """Return the text of the value for a variable; DEFAULT is the variable's default, unless a variable has
    this name. Raises DEFAULT_PLACEMENT_INVALID for DEFAULT as a part of an expression."""
    if _DEFAULT not in text.lower() or run.context.variables.find(_DEFAULT) is not None:
        return text
    tree = expression_of(f"({text}{_END})").unnest()
    if _is_default(tree):
        return variable.default or "NULL"
    if any(_is_default(part) for part in tree.walk(prune=lambda part: isinstance(part, exp.Query))):
        raise spark_error(
            "DEFAULT_PLACEMENT_INVALID",
            "A DEFAULT keyword in a MERGE, INSERT, UPDATE, or SET VARIABLE command could not be directly"
            " assigned to a target column because it was part of an expression.\n"
            "For example: `UPDATE SET c1 = DEFAULT` is allowed, but `UPDATE T SET c1 = DEFAULT + 1` is not"
            " allowed.",
        )
    return text


def _is_default(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Column) and not tree.table and tree.name.lower() == _DEFAULT


def _rows(
    run: StatementRun, text: str, before: int = 0
) -> tuple[list[pa.DataType], list[tuple[object, ...]]]:
    """Run a query made for the statement; return the types of its columns, and its rows, with values as
    literals hold them."""
    try:
        query = parse_query(text, before=before)
        bound = bind_query(query, run.context.catalog, run.context.bind_settings, run.arguments)
        rows: list[tuple[object, ...]] = []
        for batch in run.rows(bound.plan):
            rows += zip(*(to_python(column) for column in batch.columns), strict=True)
    except Error as error:
        error.position = None  # in a text that the user hasn't written
        raise
    return bound.plan.schema.types, rows


def _changed(run: StatementRun, names: Sequence[str]) -> None:
    """Drop CACHE TABLE's copies of the views that read the variables."""
    let_go(run, variable_readers(run, names))
