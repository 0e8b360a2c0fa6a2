"""The contract of a target: the place into which a job puts its rows."""

from typing import Protocol

from sqlfront_engine.spool.spool_file import SpoolFile


class JobTarget(Protocol):
    """A place for the rows of a job, such as a directory or a table."""

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        """Put the rows of the files, in order, into the target: all or none.

        ``token``: the id of the job. A coordinator that died before it could record the end of a call makes
        its successor call again, with files of the same rows: the second call leaves the target as the first
        one did. Raises :class:`~sqlfront_engine.spool.reading.SpoolDamaged` for a damaged file,
        OperationalError if the target can't take the rows.
        """
