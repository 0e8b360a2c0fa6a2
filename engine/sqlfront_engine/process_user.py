"""The user of the operating system to whom this process belongs."""

import os
import pwd
from functools import cache


@cache
def process_user() -> str:
    """The name of the user of this process, or the user's number if the number has no name, as in many
    containers. The environment is not asked: Hadoop, whose user Spark takes, does not ask it either."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
