"""The user on whose behalf this process runs."""

import os
import pwd
from functools import cache
from typing import Final

#: Variables of the environment that name the user for Spark, in Spark's order.
_NAMES: Final = ("SPARK_USER", "HADOOP_USER_NAME")


@cache
def process_user() -> str:
    """Return the name of this process's user, as Spark 4.3's ``current_user()`` does: the value of
    ``SPARK_USER`` or ``HADOOP_USER_NAME``, else the operating system's user; the user's number if the user
    has no name, as in many containers. Like Spark, ignores ``USER`` and ``LOGNAME``."""
    named = next(filter(None, map(os.environ.get, _NAMES)), None)
    if named is not None:
        return named
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
