"""The placement of a job: its participants, the partitions of each, and the members of each vertex.

Some members may be left out of a job (the design document "Job member pruning" of Hazelcast Jet). Without
required partitions, every owner of a partition takes part. With required partitions, only their owners and
the members named by an edge or a vertex take part; other partitions that an edge needs are distributed among
the participants.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from sqlfront_engine.dag import CLIENT, COORDINATOR, DAG, Distribution, Edge, Routing, Vertex
from sqlfront_values.errors import InterfaceError, OperationalError
from sqlfront_values.settings import DEFAULT_PARTITIONS, EMBEDDED


class Placement(msgspec.Struct, frozen=True, cache_hash=True):
    """The participants of a job. ``members``: the participants with partitions of the job, in the order of
    member indexes (a member that an edge or a vertex names may have none); ``partitions``: for each of these
    members its partitions, sorted. ``coordinator``: may be among ``members``; if not, it runs only the
    vertices placed on it, such as the result."""

    coordinator: str
    members: tuple[str, ...]
    partitions: tuple[tuple[int, ...], ...]

    @property
    def participants(self) -> tuple[str, ...]:
        """All members that may run a part of the job, including the coordinator."""
        return self.members if self.coordinator in self.members else (*self.members, self.coordinator)

    def all_partitions(self) -> tuple[int, ...]:
        """Return the partitions of the job, sorted; with required partitions these are not all partitions of
        the cluster."""
        return tuple(sorted(partition for owned in self.partitions for partition in owned))

    def owned_by(self, member: str) -> tuple[int, ...]:
        """Return the partitions of a member in this job, sorted; empty if it has none."""
        return self.partitions[self.members.index(member)] if member in self.members else ()

    def owner_of(self, partition: int) -> str | None:
        """Return the member that has a partition in this job; None if the job doesn't use the partition."""
        for member, owned in zip(self.members, self.partitions, strict=True):
            if partition in owned:
                return member
        return None


def only(member: str = EMBEDDED, partition_count: int = DEFAULT_PARTITIONS) -> Placement:
    """Return the placement of a job on the single member ``member``, which handles all ``partition_count``
    partitions."""
    return Placement(member, (member,), (tuple(range(partition_count)),))


#: The placement by which a client runs its part of a job: everything else is on the job's coordinator, as far
#: as the client is concerned. The coordinator checks the places of the other vertices.
AT_COORDINATOR: Final = Placement(COORDINATOR, (), ())


class Demands(msgspec.Struct, frozen=True, cache_hash=True):
    """The needs of a DAG for its placement: ``members`` that have to take part, ``partitions`` that need an
    owner among the participants, and ``all_partitions``: whether all partitions need one."""

    members: tuple[str, ...]
    partitions: tuple[int, ...]
    all_partitions: bool


def demands_of(dag: DAG) -> Demands:
    """Return what a DAG's edges, and its vertices that run on one member only, need of the placement.

    An edge partitioned by keys needs all partitions, even if the edge is local; an edge to one partition
    needs this partition.
    """
    members: dict[str, None] = {}
    partitions: dict[int, None] = {}
    every = False
    for edge in dag.edges:
        if edge.distribution is Distribution.TO_ONE:
            assert edge.target_member is not None
            members[edge.target_member] = None
        if edge.routing is Routing.PARTITIONED:
            if edge.key_columns:
                every = True
            else:
                partitions[edge.partition] = None
    for vertex in dag:
        if vertex.only_on is not None:
            if vertex.only_on.member is not None:
                members[vertex.only_on.member] = None
            if vertex.only_on.partition is not None:
                partitions[vertex.only_on.partition] = None
    return Demands(tuple(members), tuple(partitions), every)


def place(
    demands: Demands,
    owners: Sequence[str],
    members: Sequence[str],
    coordinator: str,
    required: Collection[int] | None = None,
    required_members: Collection[str] = (),
) -> Placement:
    """Choose the participants of a job, and assign the cluster's partitions to them.

    ``owners[p]`` is the owner of partition p. ``members``: the members with partitions that may take part.
    ``required``: the partitions that the job reads (None = all, and no member is left out).
    ``required_members``: further members needed by the job, which may get no partitions. Raises
    OperationalError if a required member is not in the cluster, with SQLSTATE 40001 for one of
    ``required_members``, which may have left since the job was planned, or if no member with partitions is
    left; InterfaceError for a partition out of range.
    """
    if not members and coordinator not in demands.members:
        raise OperationalError("no data member is left to run the job", sqlstate="08001")
    asked = [name for name in demands.members if name != CLIENT]
    named = [coordinator if name == COORDINATOR else name for name in asked]
    for name in named:
        if name not in members and name != coordinator:
            raise OperationalError(
                f"the target member {name!r} is missing or a lite member", sqlstate="08001"
            )
    for name in required_members:
        if name not in members:  # not even the coordinator, which runs no scan if it is about to leave
            raise OperationalError(
                f"the target member {name!r} has left or is a lite member; run the query again",
                sqlstate="40001",
            )
    check_required(required, len(owners))
    dealt: dict[str, list[int]] = {}
    turn = 0
    for partition in range(len(owners)) if required is None else sorted(set(required)):
        owner = owners[partition]
        if owner not in members:
            owner = members[turn % len(members)]
            turn += 1
        dealt.setdefault(owner, []).append(partition)
    for name in required_members:
        if name in members:
            dealt.setdefault(name, [])
    if required is not None:
        _deal_rest(dealt, demands, (*named, *required_members), len(owners), turn, members, coordinator)
    names = tuple(name for name in (*members, coordinator) if name in dealt)
    ordered = tuple(dict.fromkeys(names))
    return Placement(coordinator, ordered, tuple(tuple(sorted(dealt[name])) for name in ordered))


def check_required(required: Collection[int] | None, count: int) -> None:
    """Check the numbers of required partitions (None = all are required) against the ``count`` of partitions
    that there are. Raises InterfaceError that names the lowest number out of range."""
    for partition in sorted(required or ()):
        if not 0 <= partition < count:
            raise InterfaceError(f"there is no partition {partition}; there are {count}")


def _deal_rest(
    dealt: dict[str, list[int]],
    demands: Demands,
    named: Sequence[str],
    count: int,
    turn: int,
    members: Sequence[str],
    coordinator: str,
) -> None:
    """Add to ``dealt`` (partitions by member) the partitions that an edge needs but the job doesn't read.
    They go round robin, from position ``turn`` on, to members that take part anyway, even if the loads
    differ: no further member has to take part. ``count``: the number of the cluster's partitions. ``named``:
    the members that edges, vertices or the job name."""
    for name in named:
        if name in members:
            dealt.setdefault(name, [])
    takers = list(dealt) or [coordinator]
    present = {partition for owned in dealt.values() for partition in owned}
    rest = (
        range(count) if demands.all_partitions else sorted({number % count for number in demands.partitions})
    )
    for partition in rest:
        if partition not in present:
            dealt.setdefault(takers[turn % len(takers)], []).append(partition)
            turn += 1


def vertex_members(dag: DAG, placement: Placement) -> Mapping[str, tuple[str, ...]]:
    """Return, by vertex name, the names of the members that run each vertex: for a vertex with ``only_on``
    this one member, for a source all of ``placement.members``, for other vertices the members that rows can
    reach.

    Queues, senders and receivers are made only on these members, so that a sink on the coordinator costs
    nothing elsewhere.
    """
    found: dict[str, tuple[str, ...]] = {}
    for vertex in dag:
        if vertex.only_on is not None:
            found[vertex.name] = (_only_member(vertex, placement),)
            continue
        inbound = dag.inbound(vertex)
        reached = {name for edge in inbound for name in _reached(edge, found[edge.source.name], placement)}
        if not inbound:
            reached = set(placement.members or (placement.coordinator,))
        found[vertex.name] = tuple(name for name in placement.participants if name in reached)
    return found


def _only_member(vertex: Vertex, placement: Placement) -> str:
    assert vertex.only_on is not None
    if vertex.only_on.partition is not None:
        owner = placement.owner_of(vertex.only_on.partition)
        if placement is AT_COORDINATOR:
            return COORDINATOR
        if owner is None:
            raise InterfaceError(
                f"{vertex.name!r} runs with partition {vertex.only_on.partition}, which the job doesn't have"
            )
        return owner
    return resolve(vertex.only_on.member or COORDINATOR, placement)


def resolve(member: str, placement: Placement) -> str:
    """Return the name of the member that ``member`` stands for in a job: the coordinator's name for
    :data:`~sqlfront_engine.dag.COORDINATOR`, else ``member`` itself. The name
    :data:`~sqlfront_engine.dag.CLIENT` stands for itself, so that the jobs of all clients are alike. Raises
    InterfaceError if the member doesn't take part in the job."""
    if member == CLIENT or placement is AT_COORDINATOR:
        return member
    name = placement.coordinator if member == COORDINATOR else member
    if name not in placement.participants:
        raise InterfaceError(f"the target member {name!r} doesn't take part in the job")
    return name


def _reached(edge: Edge, sources: Sequence[str], placement: Placement) -> Sequence[str]:
    if not sources or edge.distribution is Distribution.LOCAL:
        return sources
    if edge.distribution is Distribution.TO_ONE:
        assert edge.target_member is not None
        return (resolve(edge.target_member, placement),)
    if edge.routing is Routing.PARTITIONED and not edge.key_columns:
        owner = placement.owner_of(edge.partition)
        return () if owner is None else (owner,)
    return _receivers(edge, placement) or (placement.coordinator,)


def _receivers(edge: Edge, placement: Placement) -> Sequence[str]:
    """Return the members that rows of an edge to all members can reach. A member without partitions takes
    part because it has rows to read: it is left out where any member will do."""
    if edge.routing is not Routing.UNICAST:
        return placement.members
    pairs = zip(placement.members, placement.partitions, strict=True)
    return tuple(name for name, owned in pairs if owned) or placement.members
