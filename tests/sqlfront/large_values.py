"""Runs statements one by one in a process that may have 3 GiB, a session of 1 GiB and two minutes each.

Prints what becomes of each as a line of JSON.
"""

import json
import resource
import sys
import time

import sqlfront
from sqlfront.config import Config

ADDRESS_SPACE = 3 * 1024**3


def main() -> None:
    """Run the statements of standard input, a line of JSON each."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    with sqlfront.connect(config=Config(memory_limit=1024**3, timeout=120)) as connection:
        for line in sys.stdin:
            began = time.monotonic()
            try:
                rows = connection.cursor().execute(json.loads(line)).fetchall()
                said = ["rows", len(rows), repr(rows[:1])[:200]]
            except Exception as error:  # noqa: BLE001 - which exceptions come out is the question
                kind = type(error).__mro__[0].__name__
                said = [kind, isinstance(error, sqlfront.OperationalError), str(error)]
            print(json.dumps([said, time.monotonic() - began]), flush=True)


if __name__ == "__main__":
    main()
