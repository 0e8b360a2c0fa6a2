"""A cluster of members in this process, without a network: batches are handed over by reference.

>>> with EmbeddedCluster(3, workers=1) as cluster:
...     [member.name for member in cluster.members]
['embedded-0', 'embedded-1', 'embedded-2']
"""

from collections.abc import Callable, Mapping
from threading import Event

from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_cluster.network.loopback import LoopbackNetwork
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.engine import Engine, default_memory_limit
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.memory import MemoryBudget
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_values.settings import DEFAULT_PARTITIONS


class EmbeddedCluster(ClosingContext):
    """A cluster of ``size`` members in this process; jobs are submitted to the first member, their
    coordinator. The partitions are assigned to the members in turn.

    ``workers``: threads of each member that run tasklets. ``memory_limit``: bytes that operators may hold
    on all members together, None = six tenths of the machine's memory. ``resources``: returns, for a
    member's name, the objects that processors on this member look up by key. ``files``: the files that jobs
    may open.
    """

    def __init__(
        self,
        size: int,
        *,
        workers: int,
        memory_limit: int | None = None,
        resources: Callable[[str], Mapping[str, object]] = lambda name: NO_RESOURCES,
        files: FileAccess = EVERYWHERE,
    ) -> None:
        limit = default_memory_limit() if memory_limit is None else memory_limit
        memory = MemoryBudget("the process", limit)
        network = LoopbackNetwork()
        names = tuple(f"embedded-{number}" for number in range(size))
        owners = tuple(names[partition % size] for partition in range(DEFAULT_PARTITIONS))
        members = MemberList(1, tuple(map(MemberInfo, names)), owners)
        transports = [network.transport(name) for name in names]
        self.members = tuple(
            Member(
                Engine(workers, memory_limit=limit, process_memory=memory, files=files, user_code=True),
                transport,
                members,
                resources(transport.name),
            )
            for transport in transports
        )
        for number, transport in enumerate(transports):
            for other in names[:number]:
                transport.connect(other)
        connected = Event()
        network.begin()
        network.deliver(connected.set)
        connected.wait()

    @property
    def coordinator(self) -> Member:
        """The member to which jobs are submitted, the first one."""
        return self.members[0]

    def close(self) -> None:
        """Cancel all jobs and end all threads; closing twice is no error."""
        for member in self.members:
            member.engine.close()
        for member in self.members:
            member.close()
