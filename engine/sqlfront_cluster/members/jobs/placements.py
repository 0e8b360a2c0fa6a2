"""The placements of the jobs that a member coordinates, cached from job to job. A placement says which
members run each vertex of a DAG."""

from typing import Final

from sqlfront_cluster.members.protocol.member_list import MemberList, nobody
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.plans.placement import Demands, Placement, place, vertex_members

#: Cached placements: of more plans than the plan caches of a few sessions hold.
_KEPT: Final = 1024


class Placements:
    """A cache of the placements of jobs (the members that run a job, and their partitions), for the jobs that
    ``coordinator`` coordinates. As long as the member list doesn't change, jobs whose DAGs need the same
    members and partitions get the same :class:`Placement` object. Safe to use from several threads."""

    def __init__(self, coordinator: str) -> None:
        self._coordinator = coordinator
        # Invariant: list and placements are only replaced together.
        self._known: tuple[MemberList, dict[object, Placement]] = nobody(), {}

    def of(self, members: MemberList, demands: Demands, config: JobConfig) -> Placement:
        """Return the placement, from the cache if it is there, of a job on the members of the list.
        ``demands``: the members and partitions that the job's DAG needs. ``config``: the job's options.
        Raises OperationalError if a required member is not in the cluster, or no member with partitions is
        left; InterfaceError for a partition out of range."""
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
                (*config.required_members, *members.handing_over),
            )
        return placement

    def _remembered(self, members: MemberList) -> dict[object, Placement]:
        latest, known = self._known
        if latest is not members or len(known) >= _KEPT:
            known = {}
            self._known = members, known
        return known


def participants(dag: DAG, placement: Placement) -> tuple[str, ...]:
    """Return the names of the members that run at least one vertex of the DAG; the answer is cached with the
    DAG. ``placement``: the members that the job may use, and their partitions."""
    return dag.derive(("participants", placement), lambda dag: _participants(dag, placement))


def _participants(dag: DAG, placement: Placement) -> tuple[str, ...]:
    used = {name for names in vertex_members(dag, placement).values() for name in names}
    return tuple(name for name in placement.participants if name in used)
