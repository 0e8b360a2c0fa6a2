"""The contract of a target: a directory or a table into which a job puts its rows."""

from typing import Protocol

from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.errors import OperationalError


class TargetUnavailableError(OperationalError):
    """The error of a target that can't be reached at present, such as a table of a Spark session that has
    ended. The error doesn't fail the job: the coordinator leaves the job as it is, and a successor that
    reaches the target goes on with the job."""


class JobTarget(Protocol):
    """A target for the rows of a job, such as a directory or a table. ``token``, in all methods, is the id
    of the job."""

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        """Put the rows of the files, in order, into the target: all of them or none. Raises
        :class:`~sqlfront_engine.spool.reading.SpoolDamaged` for a damaged file,
        :class:`TargetUnavailableError` if the target can't be reached at present, an error with a SQLSTATE of
        class 08 if the connection with the target is lost, so that the target may have the rows or not, and
        another error if the target can't take the rows and has none of them."""

    def settle(self, token: str) -> bool:
        """Return whether the target has the rows of the job. If it has them, also complete the rest of
        :meth:`put`, since a coordinator may have died during its call. Raises
        :class:`TargetUnavailableError` if the target can't be reached at present."""
