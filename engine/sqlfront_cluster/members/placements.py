"""The placements of a member's jobs, cached from job to job."""

from typing import Final

from sqlfront_cluster.members.member_list import MemberList, nobody
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.plans.placement import Demands, Placement, place

#: Cached placements: of more plans than the plan caches of a few sessions hold.
_KEPT: Final = 1024


class Placements:
    """The placements of the jobs coordinated by ``coordinator``. Jobs with equal demands share an object, as
    long as the member list stays unchanged. Any thread may ask."""

    def __init__(self, coordinator: str) -> None:
        self._coordinator = coordinator
        # Invariant: list and placements are only replaced together.
        self._known: tuple[MemberList, dict[object, Placement]] = nobody(), {}

    def of(self, members: MemberList, demands: Demands, config: JobConfig) -> Placement:
        """Return the placement of a job with these ``demands`` and options on the members of the list. Raises
        the errors of :func:`~sqlfront_engine.plans.placement.place`."""
        known = self._remembered(members)
        key = demands, config.required_partitions, config.required_members
        placement = known.get(key)
        if placement is None:
            placement = known[key] = place(
                demands,
                members.owners,
                members.data_members,
                self._coordinator,
                config.required_partitions,
                config.required_members,
            )
        return placement

    def _remembered(self, members: MemberList) -> dict[object, Placement]:
        latest, known = self._known
        if latest is not members or len(known) >= _KEPT:
            known = {}
            self._known = members, known
        return known
