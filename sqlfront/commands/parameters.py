"""Values in place of the parameter markers of a query that outlives its statement, such as a view's."""

from sqlglot import exp

from sqlfront.literal_texts import argument_literal
from sqlfront_planner.binder import Arguments
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.structs import Query
from sqlfront_planner.tokens.parameters import with_values


def with_arguments(query: Query, arguments: Arguments) -> Query:
    r"""Return the query with literals of the arguments' values in place of its parameter markers, as Spark
    stores the query of a view.

    >>> with_arguments(parse_query("SELECT :x AS a, ':x'"), Arguments.of({"x": "it's"})).text
    "SELECT 'it\\'s' AS a, ':x'"

    Raises UNBOUND_SQL_PARAMETER for a marker without an argument, DataError for a value that no literal can
    express.
    """
    markers = [node.this for node in query.tree.find_all(exp.Placeholder)]
    if not markers:
        return query

    def written(name: str) -> str:
        place = arguments.bound_place(name)
        return argument_literal(arguments.values[place], arguments.types[place])

    return parse_query(with_values(query.text, markers, written))
