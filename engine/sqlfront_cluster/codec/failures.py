"""Errors as data: what a member's job failed with is raised again where its result is read.

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
    """All that an :class:`~sqlfront_values.errors.Error` knows; ``kind`` is the name of its class."""

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
            raise ValueError(f"there is no class of errors {self.kind!r}")

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """The data of any exception.

        One of a class of its own travels as the nearest class of the hierarchy. Foreign ones become an
        OperationalError if the world refused (``OSError``, ``MemoryError``), else an InternalError, with
        their type's name in the message. What looks like a bug takes its traceback along as a note.
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
        """The error again, new each time."""
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
    """Text that can be encoded: lone surrogates (of file names, say) become question marks."""
    return str(text).encode("utf-8", "replace").decode()
