"""For member processes: the clock tells nothing about receive windows, as if no flow-control period ever
ended. What runs all the same waits for no tick."""

from sqlfront_cluster.members.jobs.job_timers import JobTimers


def no_tick(self: JobTimers) -> None:
    """Nothing is adapted, nothing told."""


JobTimers._adapt = no_tick  # type: ignore[method-assign]
