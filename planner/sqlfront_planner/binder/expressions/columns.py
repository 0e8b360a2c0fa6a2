"""Binding of column names: columns in scope, fields of structs, aliases of the select list, and columns of
the enclosing query."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import GroupingCall
from sqlfront_planner.binder.expressions.collections import subscript
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, OutputNames
from sqlfront_planner.binder.expressions.extraction import extraction
from sqlfront_planner.binder.names.shown_names import quoted, unknown_column
from sqlfront_planner.binder.outer_columns import misplaced
from sqlfront_planner.binder.scope import Match, Scope
from sqlfront_planner.binder.trees.constants import IMPLIED
from sqlfront_planner.binder.trees.handlers import extraction_of, failure, handles, parts_of, unsupported
from sqlfront_planner.expressions.rewriting import columns_to_outer, holds_outer_column, is_deterministic
from sqlfront_planner.expressions.same_meaning import is_same
from sqlfront_planner.logical import OuterColumn
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import Call, Column, Expr, Literal, RunValue, columns_used, walk
from sqlfront_values.types import BIGINT, STRING

#: Clauses whose operators may not read the enclosing query's row.
_WITHOUT_OUTER_COLUMNS = frozenset({Clause.ORDER_BY, Clause.LATERAL_VIEW})


@handles(exp.Column, arguments="this table db catalog")
def bind_column(binder: ExpressionBinder, node: exp.Column) -> Expr:
    """Bind a dotted name to the column or field that the name means. Raises ProgrammingError:
    AMBIGUOUS_REFERENCE, or UNRESOLVED_COLUMN if there is no such column."""
    if isinstance(node.this, exp.Star):
        raise failure(
            "INVALID_USAGE_OF_STAR_OR_REGEX", f"Invalid usage of '*' in {binder.clause.value}.", node
        )
    if not isinstance(node.this, exp.Identifier):
        raise unsupported(f"'{node.sql('spark')}' in this place", node)
    return resolve(binder, parts_of(node), node)


@handles(exp.Identifier, arguments="this quoted")
def bind_identifier(binder: ExpressionBinder, node: exp.Identifier) -> Expr:
    """Bind a name in the body of a lambda: sqlglot's tree has bare identifiers where a lambda's parameter is
    read."""
    return resolve(binder, (node.name,), node)


@handles(exp.Star, arguments="")
def bind_star(binder: ExpressionBinder, node: exp.Star) -> Expr:
    """Raise INVALID_USAGE_OF_STAR_OR_REGEX for a star at a place where SQL allows none. Select lists,
    ``count(*)`` and ``struct(*)`` are bound elsewhere."""
    raise failure("INVALID_USAGE_OF_STAR_OR_REGEX", f"Invalid usage of '*' in {binder.clause.value}.", node)


@handles(exp.Bracket, arguments="this expressions")
def bind_bracket(binder: ExpressionBinder, node: exp.Bracket) -> Expr:
    """Bind ``a[i]`` of an array (``i`` from 0), ``m[k]`` of a map, ``s['f']`` of a struct or of an array of
    structs, or ``v:p`` of a variant."""
    if len(node.expressions) != 1:
        raise unsupported("A subscript with several indexes", node)
    if (path := extraction_of(node)) is not None:
        return extraction(binder.bind(node.this), path, node)
    operand, index = binder.bind(node.this), binder.bind(node.expressions[0])
    inside = operand.type.value_type if pa.types.is_list(operand.type) else operand.type
    if pa.types.is_struct(inside) and isinstance(index, Literal) and isinstance(index.value, str):
        return field_of(binder, operand, index.value, node)
    return subscript(binder, operand, index, node)


def resolve(binder: ExpressionBinder, parts: tuple[str, ...], node: exp.Expr) -> Expr:
    """Return the expression that the dotted name ``parts`` means in the binder's scope and clause; ``node``
    is for messages.

    Raises ProgrammingError: AMBIGUOUS_REFERENCE, or UNRESOLVED_COLUMN with the nearest known names.
    """
    variable = binder.variables.get(parts[0].lower()) if binder.variables else None
    if variable is not None:
        return _fields(binder, variable, parts[1:], node)
    output, is_order = binder.output, binder.clause is Clause.ORDER_BY
    if output is not None and is_order and not binder.inside_aggregate:
        expression = _output(binder, parts, node)
        if expression is not None:
            return expression
    match = binder.scope.resolve(parts)
    if match is not None:
        column = _only(match, parts, node)
        if output is not None:
            _refuse_hidden(binder, output, match, parts, node)
        if _is_ungrouped(binder, column, node):
            expression = _output(binder, parts, node)
            if expression is not None:
                return expression
            if output is not None and output.is_closed:
                raise unresolved(known_outputs(output), parts, node)
        return _fields(binder, column, parts[match.parts :], node)
    expression = _window(binder, parts[0])
    if expression is not None:
        return _fields(binder, expression, parts[1:], node)
    is_word = len(parts) == 1 and parts[0].lower() in IMPLIED  # precedes aliases and outer columns
    expression = None if is_word else _alias(binder, parts, node)
    if expression is None and output is not None:
        expression = _output(binder, parts, node)
    if expression is None and is_word:
        function, kind = IMPLIED[parts[0].lower()]
        return RunValue(kind, function)
    if expression is None:
        expression = _outer(binder, parts, node)
    if expression is None and binder.queries.given:
        expression = _parameter(binder, parts, node)
    if expression is None and len(parts) == 1:
        expression = _implied(binder, parts[0].lower(), node)
    if expression is None and (found := binder.context.variable(parts)) is not None:
        expression = _fields(binder, *found, node)
    if expression is None and output is not None and binder.inside_aggregate:
        allows_aggregates = is_order or binder.clause is Clause.HAVING
        if allows_aggregates and output.expressions.get(parts[0].lower()):
            raise _unread_output(output, parts, node, "RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT")
    if expression is None:
        known = [(*column.qualifier, column.name) for column in binder.scope.visible()]
        raise unresolved(known_outputs(output) if output is not None and is_order else known, parts, node)
    return expression


def _refuse_hidden(
    binder: ExpressionBinder, output: OutputNames, match: Match, parts: tuple[str, ...], node: exp.Expr
) -> None:
    """Raise Spark's error if ``parts`` match an input column that HAVING or ORDER BY can't read: inside of an
    aggregate function a name of the select list hides the column, and ORDER BY over groups knows only the
    grouping keys. ``match`` is the column found."""
    if binder.inside_aggregate and match.parts == 1 and parts[0].lower() in output.hidden:
        raise _unread_output(output, parts, node, "RESOLVED_ATTRIBUTE_APPEAR_IN_OPERATION")
    if binder.clause is not Clause.ORDER_BY or output.keys is None:
        return
    if match.columns[0].expression not in output.keys:
        raise unresolved(known_outputs(output), parts, node)


def _unread_output(output: OutputNames, parts: tuple[str, ...], node: exp.Expr, detail: str) -> Error:
    """Make the error for an aggregate function that reads a column of the select list: Spark resolves the
    name, and later finds that the aggregate function has no such input. ``detail`` completes the condition
    ``MISSING_ATTRIBUTES``."""
    if not output.grouped:
        return failure(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            f"An aggregate function in ORDER BY over {quoted(parts)}, a column of the select list.",
            node,
        )
    return failure(
        f"MISSING_ATTRIBUTES.{detail}",
        f"An aggregate function can't read {quoted(parts)}, a column of the select list beside it.",
        node,
    )


def _only(match: Match, parts: tuple[str, ...], node: exp.Expr) -> Expr:
    if len(match.columns) > 1:
        candidates = ", ".join(sorted(quoted((*column.qualifier, column.name)) for column in match.columns))
        raise failure(
            "AMBIGUOUS_REFERENCE",
            f"Reference {quoted(parts)} is ambiguous, could be: [{candidates}].",
            node,
        )
    return match.columns[0].expression


def _is_ungrouped(binder: ExpressionBinder, column: Expr, node: exp.Expr) -> bool:
    """Return whether ``column``, which HAVING names by ``node``, is an input column outside of the grouping
    keys; then an alias of the same name takes precedence. Return False in ORDER BY and inside of aggregate
    functions.

    With ``GROUP BY a + 1`` the ``a`` in ``a + 1`` belongs to a key; any other ``a`` is outside of the
    keys."""
    output = binder.output
    if output is None or output.keys is None or binder.clause is Clause.ORDER_BY or binder.inside_aggregate:
        return False
    used = columns_used(column)
    readers = [key for key in output.keys if used <= columns_used(key)]
    if not readers or any(isinstance(key, Column) for key in readers):
        return not readers
    plain = replace(binder, output=None, aggregates=None, windows=None)
    return not any(_is_key(plain, outer, readers) for outer in _around(node))


def _around(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the expression and each expression that contains it, up to the whole condition of HAVING."""
    place: exp.Expr | None = node
    while place is not None and not isinstance(place, exp.Having):
        yield place
        place = place.parent


def _is_key(binder: ExpressionBinder, node: exp.Expr, keys: Sequence[Expr]) -> bool:
    try:
        expression = binder.bind(node)
    except Error:  # for example an aggregate
        return False
    return any(is_same(key, expression) for key in keys)


def _fields(binder: ExpressionBinder, expression: Expr, names: tuple[str, ...], node: exp.Expr) -> Expr:
    for name in names:
        expression = field_of(binder, expression, name, node)
    return expression


def field_of(binder: ExpressionBinder, operand: Expr, name: str, node: exp.Expr) -> Expr:
    """Bind ``operand.name``: a struct's field, whose name is case-insensitive, the array of a field's values
    in an array of structs, or the map's value for the key ``name``. Raises FIELD_NOT_FOUND,
    AMBIGUOUS_REFERENCE_TO_FIELDS, UNEXPECTED_INPUT_TYPE for another array, or INVALID_EXTRACT_BASE_FIELD_TYPE
    if the operand is of another type."""
    kind = operand.type
    if pa.types.is_struct(kind):
        field = _field_in(kind, name, node)
        return Call(field.type, "get_field", (operand, Literal(STRING, field.name)))
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        field = _field_in(kind.value_type, name, node)
        return Call(pa.list_(field.type), "get_fields", (operand, Literal(STRING, field.name)))
    if pa.types.is_map(kind):
        return subscript(binder, operand, Literal(STRING, name), node)
    if pa.types.is_list(kind):
        return subscript(binder, operand, Literal(STRING, name), node)
    raise failure(
        "INVALID_EXTRACT_BASE_FIELD_TYPE",
        f'Can\'t extract a value from "{binder.name(node)}". Need a complex type [STRUCT, ARRAY, MAP].',
        node,
    )


def _field_in(struct: pa.DataType, name: str, node: exp.Expr) -> pa.Field:
    """Return the field ``name``, case-insensitive, of the type of a struct. Raises FIELD_NOT_FOUND,
    AMBIGUOUS_REFERENCE_TO_FIELDS."""
    places = [place for place in range(struct.num_fields) if struct.field(place).name.lower() == name.lower()]
    if len(places) == 1:
        return struct.field(places[0])
    if places:
        raise failure(
            "AMBIGUOUS_REFERENCE_TO_FIELDS",
            f"Ambiguous reference to the field {quoted((name,))}. It appears {len(places)} times in the "
            "schema.",
            node,
        )
    known = ", ".join(quoted((field.name,)) for field in struct)
    raise failure("FIELD_NOT_FOUND", f"No such struct field {quoted((name,))} in {known}.", node)


def _output(binder: ExpressionBinder, parts: tuple[str, ...], node: exp.Expr) -> Expr | None:
    """Return the expression of the select list's column that ``parts`` name, further parts being fields of
    it; None if the list has no such column, and None inside of aggregate functions. Raises UNRESOLVED_COLUMN
    if several different columns have the name."""
    output = binder.output
    assert output is not None
    if binder.inside_aggregate:
        return None
    found = output.expressions.get(parts[0].lower())
    if not found:
        return None
    if binder.clause is Clause.GROUP_BY:  # only an undotted name matches, the first such column
        return found[0] if len(parts) == 1 else None
    if any(other != found[0] for other in found[1:]):
        if binder.clause is Clause.ORDER_BY and binder.scope.resolve(parts) is not None:
            raise unsupported(
                "A name that several columns of the select list share with a column of FROM", node
            )
        raise unresolved(known_outputs(output), parts, node)
    return _fields(binder, found[0], parts[1:], node)


def _alias(binder: ExpressionBinder, parts: tuple[str, ...], node: exp.Expr) -> Expr | None:
    """Return the expression of an earlier column of the select list that has the alias ``parts[0]``, further
    parts being fields of it; None if there is no such alias.

    Raises AMBIGUOUS_LATERAL_COLUMN_ALIAS if several columns have the alias, and an error inside of an
    aggregate function or if the expression is nondeterministic."""
    found = binder.aliases.get(parts[0].lower())
    if not found:
        return None
    if len(found) > 1:
        raise failure(
            "AMBIGUOUS_LATERAL_COLUMN_ALIAS",
            f"Lateral column alias {quoted(parts)} is ambiguous and has {len(found)} matches.",
            node,
        )
    if binder.inside_aggregate:
        raise failure(
            "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC",
            f"The feature is not supported: Referencing a lateral column alias {quoted(parts)} in an "
            "aggregate function.",
            node,
        )
    if not is_deterministic(found[0]):
        raise unsupported("A reference to an alias of a nondeterministic expression in the same SELECT", node)
    binder.aliases_used.append(parts[0])
    return _fields(binder, found[0], parts[1:], node)


def _window(binder: ExpressionBinder, name: str) -> Expr | None:
    """Return the column of the windows of time that ``window`` or ``session_window`` means, if the SELECT has
    a call of that function in its list or in GROUP BY, perhaps behind the name; else None."""
    windows = binder.time_windows
    if windows is None:
        return None
    call = windows.sought(name)
    if call is not None:
        rows = replace(binder, clause=Clause.SELECT, aggregates=None, windows=None, output=None, aliases={})
        try:
            rows.within(inside_aggregate=False).bind(call)
        except ProgrammingError as error:  # Spark looks the name up before it checks the widths
            if not (error.condition or "").startswith("DATATYPE_MISMATCH"):
                raise
    return windows.named(name)


def _outer(binder: ExpressionBinder, parts: tuple[str, ...], node: exp.Expr) -> Expr | None:
    """Return the expression of a column of the query directly around this query, by an :class:`OuterColumn`;
    None if that query has no such column. Raises UNRESOLVED_COLUMN for a column of a query further out, and
    Spark's error in a clause that may not read the enclosing row."""
    parent = binder.scope.parent
    if parent is None:
        return None
    match = parent.resolve(parts)
    if match is None:
        if not binder.queries.given and _is_further_out(parent.parent, parts):
            known = [(*column.qualifier, column.name) for column in binder.scope.visible()]
            error = unresolved(known, parts, node)
            error.message += " A subquery reads columns of the query directly around it only."
            raise error
        return None
    found = columns_to_outer(_only(match, parts, node))
    if binder.clause in _WITHOUT_OUTER_COLUMNS and holds_outer_column(found):
        raise misplaced(binder.name(node), node)
    return _fields(binder, found, parts[match.parts :], node)


def _parameter(binder: ExpressionBinder, parts: tuple[str, ...], node: exp.Expr) -> Expr | None:
    """Return the argument of the SQL function's parameter that ``parts`` name, further parts being fields of
    it; None if the function has no such parameter."""
    match = Scope(binder.queries.given, 0).resolve(parts)
    if match is not None and binder.clause is Clause.VALUES and columns_used(match.columns[0].expression):
        raise failure(
            "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
            f'Invalid inline table. Cannot evaluate the expression "outer({".".join(parts)})" in inline '
            "table definition.",
            node,
        )
    if match is not None and (binder.scope.parent is not None or binder.queries.enclosing is not None):
        argument = match.columns[0].expression
        if any(isinstance(item, OuterColumn) for item in walk(argument)):
            raise unsupported("A subquery over a column behind LATERAL in a SQL function", node)
    return None if match is None else _fields(binder, _only(match, parts, node), parts[match.parts :], node)


def _is_further_out(scope: Scope | None, parts: tuple[str, ...]) -> bool:
    while scope is not None:
        if scope.resolve(parts) is not None:
            return True
        scope = scope.parent
    return False


def _implied(binder: ExpressionBinder, name: str, node: exp.Expr) -> Expr | None:
    """Return the grouping set's id for ``grouping__id``, a word that names no column; None for other
    words."""
    if name == "grouping__id" and binder.aggregates is not None:
        return binder.aggregates.add_grouping(GroupingCall((), BIGINT, node))
    return None


def known_outputs(output: OutputNames) -> list[tuple[str, ...]]:
    """Return the select list's names, for the suggestions in messages; each name is a tuple of one part, and
    repeats if several columns share it."""
    return [(name,) for name, found in output.expressions.items() for _ in found]


def unresolved(known: Sequence[tuple[str, ...]], parts: tuple[str, ...], node: exp.Expr) -> Error:
    """Make the error UNRESOLVED_COLUMN for the dotted name ``parts``, which suggests the nearest of the
    ``known`` names."""
    return failure(*unknown_column(parts, known), node)
