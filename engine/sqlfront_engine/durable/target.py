"""The contract of a target: the place into which a job puts its rows."""

from typing import Protocol

from sqlfront_engine.spool.spool_file import SpoolFile


class JobTarget(Protocol):
    """A place for the rows of a job, such as a directory or a table. ``token`` is the id of the job."""

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        """Put the rows of the files, in order, into the target: all or none. Raises
        :class:`~sqlfront_engine.spool.reading.SpoolDamaged` for a damaged file, another error if the target
        can't take the rows."""

    def settle(self, token: str) -> bool:
        """Return whether the target has the rows of the job, and complete what :meth:`put` does behind them:
        a coordinator may have died before it could record the end of its call."""
