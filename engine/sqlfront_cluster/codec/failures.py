"""Errors as data, for messages: an error of a job on another member is raised again where the result is read.

>>> from sqlfront_values.errors import spark_error
>>> str(ErrorData.of(spark_error("DIVIDE_BY_ZERO", "Division by zero.")).error())
'[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012'
"""

import traceback
from typing import Final, Self

import msgspec

from sqlfront_values import errors
from sqlfront_values.errors import Error, InternalError, OperationalError

_KINDS: Final[dict[str, type[Error]]] = {
    kind.__name__: kind
    for kind in (
        errors.Error,
        errors.InterfaceError,
        errors.DatabaseError,
        errors.DataError,
        errors.OperationalError,
        errors.IntegrityError,
        errors.InternalError,
        errors.ProgrammingError,
        errors.NotSupportedError,
    )
}


class ErrorData(msgspec.Struct, frozen=True, array_like=True):
    """The data of an :class:`~sqlfront_values.errors.Error`. ``kind``: the name of its class. ``vertex`` and
    ``member``: where the error was raised. The other fields are the attributes of the error."""

    kind: str
    message: str
    condition: str | None = None
    sqlstate: str | None = None
    position: tuple[int, int] | None = None
    sql: str | None = None
    vertex: str | None = None
    member: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"unknown class of errors {self.kind!r}")

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Return the data of ``error``, which may be any exception.

        For an error of a derived class, ``kind`` is the nearest base class that PEP 249's hierarchy has. An
        exception that isn't sqlfront's becomes an OperationalError if the environment failed (``OSError``,
        ``MemoryError``), else an InternalError; the name of the exception's class is put before its message.
        Every InternalError gets its traceback as a note.
        """
        notes = tuple(map(_printable, getattr(error, "__notes__", ())))
        if not isinstance(error, Error):
            world = isinstance(error, OSError | MemoryError)
            kind = OperationalError.__name__ if world else InternalError.__name__
            message = f"{type(error).__name__}: {error}"
            return cls(kind, _printable(message), notes=notes if world else (*notes, _trace(error)))
        kind = next(base.__name__ for base in type(error).__mro__ if _KINDS.get(base.__name__) is base)
        if isinstance(error, InternalError):
            notes = (*notes, _trace(error))
        return cls(
            kind,
            _printable(error.message),
            error.condition,
            error.sqlstate,
            error.position,
            error.sql if error.sql is None else _printable(error.sql),
            error.vertex,
            error.member,
            notes,
        )

    def error(self) -> Error:
        """Return a new error with this data."""
        error = _KINDS[self.kind](
            self.message, condition=self.condition, sqlstate=self.sqlstate, position=self.position
        )
        error.sql, error.vertex, error.member = self.sql, self.vertex, self.member
        for note in self.notes:
            error.add_note(note)
        return error


def _trace(error: BaseException) -> str:
    frames = "".join(traceback.format_exception(error))
    return _printable(f"where it was raised:\n{frames.rstrip()}")


def _printable(text: object) -> str:
    """Return ``str(text)`` with lone surrogates, which UTF-8 can't encode (they come from file names, for
    instance), replaced by question marks."""
    return str(text).encode("utf-8", "replace").decode()
