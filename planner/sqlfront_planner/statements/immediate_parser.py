"""The parser of EXECUTE IMMEDIATE. The text's syntax has been checked against Spark's grammar."""

from sqlfront_planner.statements.immediate_structs import ExecuteImmediate
from sqlfront_planner.statements.query_parser import statement_text
from sqlfront_planner.syntax.lexer import tokens_of


def parse_immediate(sql: str, start: int) -> ExecuteImmediate:
    """Parse EXECUTE IMMEDIATE from offset ``start`` to the end of the text."""
    text = statement_text(sql, start)
    tokens = tokens_of(text)
    count = len(tokens.kinds)
    places, depth = {"INTO": count, "USING": count}, 0
    for place, kind in enumerate(tokens.kinds):
        depth += (kind in "([") - (kind in ")]")
        if not depth and place > 2 and places.get(kind) == count:
            places[kind] = place
    into, using = min(places["INTO"], places["USING"]), places["USING"]

    def between(begin: int, end: int) -> str:
        return text[tokens.starts[begin] : tokens.ends[end - 1]] if end > begin else ""

    return ExecuteImmediate(
        between(2, into),
        tuple(name.strip() for name in between(into + 1, using).split(",")) if into < using else (),
        _unwrapped(between(using + 1, count)),
    )


def _unwrapped(values: str) -> str:
    """Return the values of USING without the parentheses around all of them; a subquery keeps its own."""
    kinds = tokens_of(values).kinds
    if kinds[:1] != ["("] or kinds[1:2] in (["SELECT"], ["WITH"], ["VALUES"], ["FROM"], ["TABLE"]):
        return values
    depth = 0
    for place, kind in enumerate(kinds):
        depth += (kind == "(") - (kind == ")")
        if depth == 0:
            return values.strip()[1:-1] if place == len(kinds) - 1 else values
    return values
