"""For member processes: the clock tells nothing about receive windows, as if no flow-control period ever
ended. What runs all the same waits for no tick."""

from sqlfront_cluster.members.member import Member


def no_tick(self: Member) -> None:
    """Nothing is adapted, nothing told."""


Member._adapt = no_tick  # type: ignore[method-assign]
