"""KILL QUERY: cancel a running query of any session."""

from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun
from sqlfront.light_jobs.listing import listing
from sqlfront_cluster.members.member import Member
from sqlfront_planner.statements.structs import KillQuery
from sqlfront_planner.tokens.marks import PositionalParameter
from sqlfront_values.errors import DatabaseError, OperationalError, ProgrammingError, spark_error


def kill_query(run: StatementRun, statement: KillQuery) -> CommandOutcome:
    """KILL QUERY: cancel a query of any session on any coordinator. The user of the query gets an error that
    says who has cancelled it.

    Raises ProgrammingError (42704) if no query has the id, OperationalError if a member that may have the
    query does not answer.
    """
    query = _number(run, statement.id)
    runner = run.context.runner
    if not isinstance(runner, Member):
        if not runner.cancel(query, "KILL QUERY"):
            raise _unknown(query)
        return NOTHING
    by = f"KILL QUERY at {runner.name}"
    if runner.engine.cancel(query, by):
        return NOTHING
    found = listing(runner)
    coordinator = next((job.coordinator for job in found.jobs if job.id == query), None)
    if coordinator is None:
        raise _unknown(query, found.silent)
    runner.cancel(query, coordinator, by)
    return NOTHING


def _number(run: StatementRun, given: int | str) -> int:
    """Return the id of the query to cancel: ``given`` itself if it is an integer, else the value of the
    parameter that ``given`` names. Raises UNBOUND_SQL_PARAMETER for a parameter without a value,
    ProgrammingError (42K08) for a value that is no integer."""
    if isinstance(given, int):
        return given
    place = run.arguments.place(given)
    if place is None:
        shown = "?" if isinstance(given, PositionalParameter) else f":{given}"
        raise spark_error("UNBOUND_SQL_PARAMETER", f"Found the unbound parameter: {shown}.")
    value = run.arguments.values[place]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ProgrammingError(f"KILL QUERY takes the id of a query, not {value!r}", sqlstate="42K08")
    return value


def _unknown(query: int, silent: tuple[str, ...] = ()) -> DatabaseError:
    if silent:
        return OperationalError(
            f"query {query} was not found, and these members gave no answer: {', '.join(silent)}",
            sqlstate="08006",
        )
    return ProgrammingError(
        f"query {query} does not exist or has ended; sys.light_jobs lists the ids of the running queries",
        sqlstate="42704",
    )
