"""How far a statement is in Spark."""

import msgspec


class Progress(msgspec.Struct, frozen=True):
    """How far the jobs of a statement are, as far as Spark has begun them: stages and tasks, and how many of
    them are done."""

    stages: int = 0
    stages_done: int = 0
    tasks: int = 0
    tasks_done: int = 0
