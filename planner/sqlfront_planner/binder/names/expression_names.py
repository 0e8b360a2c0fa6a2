"""Spark's text of expressions: names of result columns without an alias, and expressions in messages.

Spark makes the text from the analysed expression without implicit casts. It is a normal form of the query's
text: operators in parentheses, function names in lower case, default arguments filled in. The rules below
were derived from a running Spark (``tests/planner/test_names.py`` holds its answers).
"""

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.context import MovedBy
from sqlfront_planner.binder.names import (
    call_names,
    lambda_names,
    routine_names,
    variable_names,
    window_names,
)
from sqlfront_planner.binder.trees import chains, interval_literals, precedence, type_names
from sqlfront_planner.binder.trees.constants import CURRENT, IMPLIED, constant_text, negative_literal, number
from sqlfront_planner.binder.trees.handlers import extraction_of, field_name, parts_of, unparenthesized
from sqlfront_planner.tokens.marks import NotNullMark, ShiftRightUnsigned, UnaryPlus
from sqlfront_values import evaluate, types
from sqlfront_values.expressions import Cast, Expr, Literal
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import is_time

if TYPE_CHECKING:
    from sqlfront_planner.binder.protocols import Binder

_BINARY: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    ShiftRightUnsigned: ">>>",
    exp.EQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
}


def result_name(node: exp.Expr, binder: "Binder") -> str:
    """Return the name of a select list's column that has no alias: the last part of a dotted name or of a
    cast dotted name; for any other expression Spark's text of it."""
    match node:
        case exp.Paren():
            return result_name(node.this, binder)
        case exp.Column() if _is_implied(node, binder):
            return name_of(node, binder)
        case exp.Column():
            return str(node.parts[-1].name)
        case exp.Dot() if _is_dotted(node):
            return str(node.expression.name)
        case exp.Bracket() if (path := extraction_of(node)) is not None and path.name is not None:
            return path.name
        case exp.TryCast() if (path := extraction_of(unparenthesized(node.this))) is not None and path.name:
            return path.name
        case exp.TryCast() if isinstance(node.this, exp.Column) and not _is_field(node.this, binder):
            return str(node.this.parts[-1].name)
        case _:
            return name_of(node, binder)


def _is_implied(node: exp.Column, binder: "Binder") -> bool:
    """Return whether the name is a word such as ``current_user`` that names no column, and calls a
    function."""
    parts = parts_of(node)
    if len(parts) > 1 or parts[0].lower() not in IMPLIED:
        return False
    return parts[0].lower() not in binder.variables and binder.scope.resolve(parts) is None


def _is_dotted(node: exp.Expr) -> bool:
    """Return whether the node is a dotted name, perhaps with parentheses around its first parts:
    ``(a.b).c``."""
    inner = unparenthesized(node)
    return isinstance(inner, exp.Column) or (isinstance(inner, exp.Dot) and _is_dotted(inner.this))


def name_of(node: exp.Expr, binder: "Binder") -> str:
    """Return Spark's text of an expression, as it stands in a column's name or in a message; for nodes
    without a rule return sqlglot's text."""
    try:
        operator = _BINARY.get(type(node))
        if operator is not None:
            return _binary(node, operator, binder)
        maker = _TEXTS.get(type(node))
        return maker(node, binder) if maker is not None else node.sql("spark")
    except RecursionError:
        return on_fresh_stack(name_of, node, binder)


def _text(binder: "Binder") -> Callable[[exp.Expr], str]:
    """Return a function that makes the text of a node by :func:`name_of` with this binder."""
    return lambda part: name_of(part, binder)


def _is_field(node: exp.Column, binder: "Binder") -> bool:
    """Return whether the last part of a dotted name is a struct's field."""
    parts = parts_of(node)
    match = binder.scope.resolve(parts)
    return match is not None and match.parts < len(parts)


def _binary(node: exp.Expr, operator: str, binder: "Binder") -> str:
    if not isinstance(node, exp.And | exp.Or):
        node = precedence.regrouped(node)
        operator = _BINARY.get(type(node), operator)
        if type(node) not in _BINARY:
            return name_of(node, binder)
    if type(node) in _ROUNDED:
        return _comparison(node, operator, binder)
    if type(node) in _LOGIC:
        return _chain(node, _LOGIC, binder)
    if type(node) in _OPERATORS:
        return _chain(node, _OPERATORS, binder)
    left, right = name_of(precedence.left_of(node), binder), name_of(precedence.right_of(node), binder)
    return f"({left} {operator} {right})"


_LOGIC: Final = frozenset({exp.And, exp.Or})
#: Operators whose chains :mod:`sqlfront_planner.binder.trees.precedence` has grouped to the left.
_OPERATORS: Final = frozenset(
    {
        *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.DPipe),
        *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor),
        *(exp.BitwiseLeftShift, exp.BitwiseRightShift, ShiftRightUnsigned),
    }
)


def _chain(node: exp.Expr, kinds: frozenset[type[exp.Expr]], binder: "Binder") -> str:
    """Return the text of a left-grouped chain of operators of the classes ``kinds``, such as
    ``((a + b) - c)``. The text is made in a loop, since the chain may be long."""
    links = chains.spine(node, kinds)
    opening, rest = list[str](), [name_of(precedence.left_of(links[0]), binder)]
    for link in links:
        right = name_of(precedence.right_of(link), binder)
        if id(link) in binder.context.moved:
            left = "".join((*reversed(opening), *rest))
            opening, rest = [], [_time_arithmetic(link, left, right, binder)]
        elif isinstance(link, exp.DPipe):
            opening.append("concat(")
            rest.append(f", {right})")
        else:
            opening.append("(")
            rest.append(f" {_BINARY[type(link)]} {right})")
    return "".join((*reversed(opening), *rest))


#: The rounding of a decimal on the right of a whole number; a decimal on the left is rounded the other way.
_ROUNDED: Final[dict[type[exp.Expr], str]] = {
    exp.LT: ROUND_CEILING,
    exp.GTE: ROUND_CEILING,
    exp.GT: ROUND_FLOOR,
    exp.LTE: ROUND_FLOOR,
}


def _comparison(node: exp.Expr, operator: str, binder: "Binder") -> str:
    """Return the text of a comparison by ``< <= > >=``. Spark rounds a decimal literal that is compared with
    a whole number; a literal beyond bigint's range decides the comparison, whose text is then "true" or
    "false"."""
    sides = [binder.context.known_value(binder.bind(side)) for side in (node.this, node.args["expression"])]
    texts = [name_of(side, binder) for side in (node.this, node.args["expression"])]
    for place, (side, other) in enumerate(zip(sides, sides[::-1], strict=True)):
        if not isinstance(side, Literal) or not isinstance(side.value, Decimal):
            continue
        if not types.is_integral(other.type):
            continue
        decided = binder.bind(node)
        if isinstance(decided, Literal):
            return "true" if decided.value else "false"
        up = (_ROUNDED[type(node)] == ROUND_CEILING) == bool(place)
        texts[place] = str(side.value.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))
    return f"({texts[0]} {operator} {texts[1]})"


def _time_arithmetic(node: exp.Expr, left: str, right: str, binder: "Binder") -> str:
    """Return the text of an operator that moves a date or timestamp, or multiplies an interval; Spark often
    shows it as a function call. ``left`` and ``right`` are the operands' texts."""
    moved = binder.context.moved[id(node)]
    if moved.swapped:
        left, right = right, left
    minus = isinstance(node, exp.Sub)
    match moved.by:
        case MovedBy.NUMBER:
            return f"{'date_sub' if minus else 'date_add'}({left}, {right})"
        case MovedBy.DAYS:
            days = f"extractansiintervaldays({right})"
            return f"date_add({left}, {f'(- {days})' if minus else days})"
        case MovedBy.INTERVAL:
            return f"{left} {'-' if minus else '+'} {right}"
        case MovedBy.FACTOR:
            return f"({left} * {right})"


# ---- by node


def _literal(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Literal)
    if node.is_string:
        return str(node.this)
    literal = number(node.this, node)
    return value_text(literal)


def value_text(literal: Literal, time_zone: str = "UTC") -> str:
    """Return the name that Spark gives a result column that is this literal, in a session with this time
    zone."""
    if isinstance(literal.value, Decimal):
        return str(literal.value)
    if types.is_string(literal.type) and literal.value is not None:
        return str(literal.value)
    return constant_text(literal.value, literal.type, time_zone)


def _bound_literal(node: exp.Expr, binder: "Binder") -> str:
    """Return the text of a literal whose value is only known after binding: a typed literal (``DATE '...'``),
    a binary literal or a parameter."""
    bound = binder.context.titled(binder.bind(node))
    if isinstance(bound, Cast):
        text = evaluate.evaluate_scalar(Cast(types.STRING, bound), binder.context.settings.evaluation)
        return f"{types.sql_name(bound.type)} '{text}'"
    zone = binder.context.settings.time_zone
    return value_text(bound, zone) if isinstance(bound, Literal) else node.sql("spark")


def _negative(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Neg)
    literal = negative_literal(node)
    return f"(- {name_of(node.this, binder)})" if literal is None else value_text(literal)


def _current(node: exp.Expr, binder: "Binder") -> str:
    name, _ = CURRENT[type(node)]
    if name in binder.variables:
        return lambda_names.parameter_text((name,), binder)
    return f"{name}()" if binder.scope.resolve((name,)) is None else name


def _column(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Column)
    if isinstance(node.this, exp.Star):
        return node.sql("spark")
    parts = parts_of(node)
    if parts[0].lower() in binder.variables:
        return lambda_names.parameter_text(parts, binder)
    match = binder.scope.resolve(parts)
    if match is None and binder.names_window(parts[0]):
        return ".".join(parts)
    if match is None and _is_implied(node, binder):
        function, kind = IMPLIED[node.name.lower()]
        return f"{function}({kind.precision if is_time(kind) else ''})"
    if match is None:
        if binder.aliases.get(parts[0].lower()):
            return ".".join((f"lateralAliasReference({parts[0]})", *parts[1:]))
        parent = binder.scope.parent
        match = parent.resolve(parts) if parent is not None else None
        if match is None and node.name.lower() == "grouping__id":
            return "grouping_id()"
        if match is None and (found := binder.context.variable(parts)) is not None:
            return _variable(*found, binder)
        if match is None:
            return ".".join(parts) if len(parts) == 1 else parts[-1]
    return ".".join(parts[match.parts - 1 :])


def _variable(expression: Expr, fields: tuple[str, ...], binder: "Binder") -> str:
    """Return the text of a SQL variable, or of a field of its value."""
    described = binder.context.variable_of(expression)
    assert described is not None
    return ".".join((variable_names.variable_text(*described, binder.context.settings.evaluation), *fields))


def _cast(node: exp.Expr, binder: "Binder") -> str:
    if pa.types.is_nested(type_names.data_type_of(node.args["to"])):
        return name_of(node.this, binder)
    word = "TRY_CAST" if node.args.get("safe") else "CAST"
    return f"{word}({name_of(node.this, binder)} AS {_type_text(node.args['to'])})"


def _type_text(node: exp.Expr) -> str:
    assert isinstance(node, exp.DataType)
    return types.sql_name(type_names.data_type_of(node))


def _concatenation(node: exp.Expr, binder: "Binder") -> str:
    grouped = precedence.regrouped(node)
    if not isinstance(grouped, exp.DPipe):
        return name_of(grouped, binder)
    return _chain(grouped, _OPERATORS, binder)


def _not(node: exp.Expr, binder: "Binder") -> str:
    return f"(NOT {name_of(node.this, binder)})"


def _not_equal(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Binary)
    return f"(NOT ({name_of(node.this, binder)} = {name_of(node.expression, binder)}))"


def _distinct_from(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Binary)
    return f"(NOT ({name_of(node.this, binder)} <=> {name_of(node.expression, binder)}))"


def _between(node: exp.Expr, binder: "Binder") -> str:
    return f"between({_list([node.this, node.args['low'], node.args['high']], binder)})"


def _in(node: exp.Expr, binder: "Binder") -> str:
    left = name_of(node.this, binder)
    query = node.args.get("query")
    if query is not None:
        return f"({left} IN (listquery({_outer_names(query, binder)})))"
    return f"({left} IN ({_list(node.expressions, binder)}))"


def _like(node: exp.Expr, binder: "Binder") -> str:
    return _pattern(node, binder, "")


def _escape(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Binary)
    return _pattern(node.this, binder, call_names.shown_escape(node.expression.this))


def _pattern(node: exp.Expr, binder: "Binder", escape: str) -> str:
    assert isinstance(node, exp.Binary)
    left, negated = name_of(node.this, binder), bool(node.args.get("negate"))
    if isinstance(node.expression, exp.Any | exp.All):
        if not _only_strings(node.expression):
            return _several_patterns(node, node.expression, binder)
        quantifier = "any" if isinstance(node.expression, exp.Any) else "all"
        left = f"lower({left})" if isinstance(node, exp.ILike) else left
        return f"{'not' if negated else ''}like{quantifier}({left})"
    return _one_pattern(node, left, name_of(node.expression, binder), escape)


def _one_pattern(node: exp.Binary, left: str, right: str, escape: str = "") -> str:
    if isinstance(node, exp.ILike):
        text = f"ilike({left}, {right})"
    elif isinstance(node, exp.RegexpLike):
        text = f"RLIKE({left}, {right})"
    else:
        text = f"{left} LIKE {right}{escape}"
    return f"(NOT {text})" if node.args.get("negate") else text


def _choices(quantifier: exp.Expr) -> list[exp.Expr]:
    inner = quantifier.this
    return list(inner.expressions) if isinstance(inner, exp.Tuple) else [inner]


def _only_strings(quantifier: exp.Expr) -> bool:
    """Return whether all patterns of LIKE ANY or LIKE ALL are literals; only then Spark shows the call as
    ``likeany(s)`` or ``likeall(s)``."""
    return all(isinstance(choice, exp.Literal) for choice in map(unparenthesized, _choices(quantifier)))


def _several_patterns(node: exp.Binary, quantifier: exp.Expr, binder: "Binder") -> str:
    """Return the text of ``LIKE ANY (a, b)`` or ``LIKE ALL (a, b)`` with patterns that aren't all literals:
    one comparison per pattern, joined by OR or AND."""
    left, word = name_of(node.this, binder), "OR" if isinstance(quantifier, exp.Any) else "AND"
    texts = [_one_pattern(node, left, name_of(choice, binder)) for choice in _choices(quantifier)]
    return reduce(lambda before, text: f"({before} {word} {text})", texts)


def _is(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Binary)
    left = name_of(node.this, binder)
    match node.expression:
        case exp.Boolean(this=value):
            return f"({left} <=> {'true' if value else 'false'})"
        case exp.Literal(this=NotNullMark()):
            return f"({left} IS NOT NULL)"
        case _:
            return f"({left} IS NULL)"


def _case(node: exp.Expr, binder: "Binder") -> str:
    operand = None if node.this is None else name_of(node.this, binder)
    words = ["CASE"]
    for branch in node.args["ifs"]:
        when = name_of(branch.this, binder)
        when = when if operand is None else f"({operand} = {when})"
        words.append(f"WHEN {when} THEN {name_of(branch.args['true'], binder)}")
    default = node.args.get("default")
    if default is not None:
        words.append(f"ELSE {name_of(default, binder)}")
    return " ".join([*words, "END"])


def _interval(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Interval)
    return interval_literals.interval_literal(node).text()


def _bracket(node: exp.Expr, binder: "Binder") -> str:
    if (path := extraction_of(node)) is not None:
        alias = "" if path.name is None else f" AS {types.quoted_if_odd(path.name)}"
        return f"variant_get({name_of(node.this, binder)}, {path}){alias}"
    whole, index = name_of(node.this, binder), _list(node.expressions, binder)
    kind = binder.bind(node.this).type
    of_structs = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
    is_field = of_structs and types.is_string(binder.bind(node.expressions[0]).type)
    return f"{whole}.{index}" if is_field or pa.types.is_struct(kind) else f"{whole}[{index}]"


def _dot(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Dot)
    if isinstance(node.expression, exp.Anonymous):
        return routine_names.qualified_text(binder, node, _text(binder))
    whole, name = name_of(node.this, binder), node.expression.name
    is_map = not isinstance(node.this, exp.Column) and pa.types.is_map(binder.bind(node.this).type)
    return f"{whole}[{name}]" if is_map else f"{whole}.{name}"


def _tuple(node: exp.Expr, binder: "Binder") -> str:
    parts = [
        f"{field_name(part, place)}, {name_of(part, binder)}"
        for place, part in enumerate(node.expressions, 1)
    ]
    return f"named_struct({', '.join(parts)})"


def _substring(node: exp.Expr, binder: "Binder") -> str:
    length = node.args.get("length")
    shown = "2147483647" if length is None else name_of(length, binder)
    return f"substring({_list([node.this, node.args['start']], binder)}, {shown})"


def _trim(node: exp.Expr, binder: "Binder") -> str:
    position = str(node.args.get("position") or "BOTH").upper()
    characters = node.args.get("expression")
    if characters is not None:
        return f"TRIM({position} {name_of(characters, binder)} FROM {name_of(node.this, binder)})"
    function = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position]
    return f"{function}({name_of(node.this, binder)})"


def _position(node: exp.Expr, binder: "Binder") -> str:
    return f"locate({_list([node.args['substr'], node.this], binder)}, 1)"


def _overlay(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Overlay)
    length = node.args.get("for_")
    shown = "-1" if length is None else name_of(length, binder)
    return f"overlay({_list([node.this, node.expression, node.args['from_']], binder)}, {shown})"


def _list(nodes: Sequence[exp.Expr], binder: "Binder") -> str:
    return ", ".join(name_of(node, binder) for node in nodes)


def _filter(node: exp.Expr, binder: "Binder") -> str:
    assert isinstance(node, exp.Filter)
    return f"{name_of(node.this, binder)} FILTER (WHERE {name_of(node.expression.this, binder)})"


def _scalar_subquery(node: exp.Expr, binder: "Binder") -> str:
    return f"scalarsubquery({_outer_names(node, binder)})"


def _exists(node: exp.Expr, binder: "Binder") -> str:
    return f"exists({_outer_names(node.this, binder)})"


def _outer_names(query: exp.Expr, binder: "Binder") -> str:
    """Return the names of the enclosing query's columns that a subquery reads, separated by commas, in the
    order in which the subquery reads them."""
    return ", ".join(binder.queries.outer_names(query, binder.scope))


Text = Callable[[exp.Expr, "Binder"], str]

_TEXTS: Final[dict[type[exp.Expr], Text]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node, binder: "true" if node.this else "false",
    exp.Null: lambda node, binder: "NULL",
    exp.HexString: _bound_literal,
    exp.Placeholder: _bound_literal,
    exp.Cast: _bound_literal,
    exp.CurrentDate: _current,
    exp.CurrentTimestamp: _current,
    exp.Neg: _negative,
    UnaryPlus: lambda node, binder: f"(+ {name_of(node.this, binder)})",
    exp.BitwiseNot: lambda node, binder: f"~{name_of(node.this, binder)}",
    exp.Paren: lambda node, binder: name_of(node.this, binder),
    exp.Column: _column,
    exp.Identifier: lambda node, binder: lambda_names.parameter_text((node.name,), binder),
    exp.Lambda: lambda node, binder: lambda_names.lambda_text(node, binder, name_of),
    exp.TryCast: _cast,
    exp.Not: _not,
    exp.NEQ: _not_equal,
    exp.NullSafeNEQ: _distinct_from,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _like,
    exp.Escape: _escape,
    exp.Is: _is,
    exp.Case: _case,
    exp.Interval: _interval,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    exp.Tuple: _tuple,
    exp.DPipe: _concatenation,
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Overlay: _overlay,
    exp.Anonymous: lambda node, binder: call_names.call_text(node, binder, _text(binder)),
    exp.Filter: _filter,
    exp.WithinGroup: lambda node, binder: call_names.within_group_text(node, binder, _text(binder)),
    exp.IgnoreNulls: lambda node, binder: window_names.ignore_nulls_text(node, _text(binder)),
    exp.RespectNulls: lambda node, binder: window_names.ignore_nulls_text(node, _text(binder)),
    exp.Window: lambda node, binder: window_names.window_text(node, binder, _text(binder)),
    exp.Subquery: _scalar_subquery,
    exp.Exists: _exists,
}
