"""A program that replaces a durable job, and kills itself at a given step of the replacement::

    python -m tests.sqlfront.jobs.replaced FOLDER STATEMENT sync 7

If there is no job, the program begins one that runs for long. The steps are those of
:mod:`tests.sqlfront.jobs.killed`.
"""

import sys
from pathlib import Path

from tests.sqlfront.jobs.killed import LONG, NAME, open_session, run_job


def main() -> None:
    """Replace the job, and wait for the end."""
    folder, statement, step, number = sys.argv[1:]
    with open_session(Path(folder)) as connection:
        connection.execute(f"CREATE JOB IF NOT EXISTS {NAME} AS {LONG}")
        run_job(connection, statement, step, int(number))


if __name__ == "__main__":
    main()
