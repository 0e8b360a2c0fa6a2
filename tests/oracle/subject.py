"""sqlfront as a subject: answers SQL through its public API."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import sqlfront
from tests.oracle.answers import Answer, Column, Failure, Outcome
from tests.oracle.values import rows_of


class Subject:
    """A context manager that owns one connection, with the default configuration unless another is given.

    >>> with Subject() as subject:
    ...     subject.answer("SELECT 1")
    Answer(columns=(Column(name='1', type='int'),), rows=(('1',),))
    """

    def __init__(self, config: sqlfront.Config | None = None) -> None:
        self._config = config

    def __enter__(self) -> Self:
        self.connection = sqlfront.connect(self._config)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def answer(self, sql: str) -> Outcome:
        """sqlfront's answer: rows or error. A statement without a result has no columns and no rows.

        What is no answer at all is raised: an InternalError, and anything that isn't one of sqlfront's
        errors.
        """
        return answer(self.connection, sql)


def answer(connection: sqlfront.Connection, sql: str) -> Outcome:
    """What a connection answers, see :meth:`Subject.answer`."""
    return answer_and_lane(connection, sql)[0]


def answer_and_lane(connection: sqlfront.Connection, sql: str) -> tuple[Outcome, str]:
    """The same, and the lane that the answer came by; an error has none."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            outcome = _answer(cursor)
            assert cursor.stats is not None
            return outcome, cursor.stats.lane
    except sqlfront.InternalError:
        raise
    except sqlfront.Error as error:
        return Failure(error.condition, error.sqlstate, f"{type(error).__name__}: {error}"), ""


def _answer(cursor: sqlfront.Cursor) -> Answer:
    if cursor.description is None:
        return Answer((), ())
    columns = tuple(Column(name, kind.ddl) for name, kind, *_ in cursor.description)
    return Answer(columns, tuple(rows_of(cursor.fetch_arrow_table())))
