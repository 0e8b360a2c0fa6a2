"""The effect of CREATE if its name is taken."""

from enum import Enum


class CreateMode(Enum):
    """The effect of CREATE if a relation, a function, or a job, of the same name exists."""

    ERROR = "error"
    """CREATE: raise an error."""
    REPLACE = "or replace"
    """CREATE OR REPLACE: the new one replaces the present one."""
    SKIP = "if not exists"
    """CREATE ... IF NOT EXISTS: keep the present one."""
