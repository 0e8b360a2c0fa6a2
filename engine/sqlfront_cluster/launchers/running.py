"""A member (or a client) of a cluster over the network, in this process: the door that waits."""

from collections.abc import Mapping
from threading import Event
from types import TracebackType
from typing import Final, Protocol, Self

import msgspec

from sqlfront_cluster.members.cluster_messages import MESSAGES
from sqlfront_cluster.members.keeper import KEEPER
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.membership import Membership, MembershipSettings
from sqlfront_cluster.network.tcp import NetworkSettings, TcpTransport
from sqlfront_cluster.network.tls.security import Security
from sqlfront_engine.engine import Engine
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_values.errors import Error, OperationalError

#: The version that members show each other; those of another one are refused.
PRODUCT: Final = "0.1.0"
#: Seconds that joining may take.
JOIN_TIMEOUT: Final = 30.0


class MemberOptions(msgspec.Struct, frozen=True):
    """What a member is to be. ``name``: unique in the cluster and never used before. ``listen``: its address,
    empty for a client, which nobody connects to and which owns no partitions. ``workers``: cooperative
    threads, None = one per core. ``memory_limit``: bytes, None = six tenths of the machine's. ``files``:
    those that it may open for jobs. ``user_code``: it runs functions that other members send."""

    name: str
    keeper: str
    listen: str = ""
    workers: int | None = None
    memory_limit: int | None = None
    silence_limit: float = 5.0
    files: FileAccess = EVERYWHERE
    user_code: bool = False


class MemberService(Protocol):
    """What lives on a member beside its engine, such as its shares of tables."""

    @property
    def resources(self) -> Mapping[str, object]:
        """The member's own objects for the processors of jobs, by key."""

    def attach(self, running: "RunningMember") -> None:
        """This is the member; called once, before it joins its cluster."""

    def close(self) -> None:
        """The member has ended."""


class Resources:
    """A service that consists of its resources."""

    def __init__(self, resources: Mapping[str, object] = NO_RESOURCES) -> None:
        self.resources = resources

    def attach(self, running: "RunningMember") -> None:
        """See :meth:`MemberService.attach`."""

    def close(self) -> None:
        """See :meth:`MemberService.close`."""


def network_settings(security: Security) -> NetworkSettings:
    """How the members of a cluster talk that is opened so."""
    return NetworkSettings(
        cluster="sqlfront",
        secret=security.secret,
        product=PRODUCT,
        tls=security.tls,
        insecure=security.insecure,
        never_calls=KEEPER,
    )


class RunningMember:
    """A member from its joining, for which the constructor waits, to its end.

    Raises OperationalError if there is no such cluster or it doesn't take the member.
    """

    def __init__(
        self, options: MemberOptions, security: Security, service: MemberService | None = None
    ) -> None:
        #: Why the member has ended; None while it hasn't, and if it has left or was closed.
        self.error: OperationalError | None = None
        self.ended = Event()
        self._joined_or_ended = Event()
        #: How it talks with others.
        self.network = network_settings(security)
        transport = TcpTransport(
            self.network,
            MESSAGES,
            listen=[options.listen] if options.listen else [],
            name=options.name,
        )
        self.engine = Engine(
            options.workers,
            memory_limit=options.memory_limit,
            files=options.files,
            user_code=options.user_code,
        )
        self.membership = Membership(
            self.engine,
            transport,
            MembershipSettings(
                options.keeper,
                transport.addresses[0] if options.listen else "",
                lite=not options.listen,
                silence_limit=options.silence_limit,
            ),
            service.resources if service is not None else NO_RESOURCES,
            self._joined_or_ended.set,
            self._end,
        )
        self.service = service or Resources()
        try:
            self.service.attach(self)
            self.membership.join()
            self._await_joined(options)
        except BaseException:
            self.close()
            raise

    @property
    def member(self) -> Member:
        """Who runs and coordinates jobs."""
        return self.membership.member

    def _await_joined(self, options: MemberOptions) -> None:
        in_time = self._joined_or_ended.wait(JOIN_TIMEOUT)
        if self.error is not None:
            raise self.error
        if not in_time:
            raise OperationalError(
                f"member {options.name} could not join the cluster at {options.keeper} within"
                f" {JOIN_TIMEOUT:g} s: it doesn't reach all members",
                sqlstate="08001",
            )

    def _end(self, error: OperationalError | None) -> None:
        self.error = error
        self._joined_or_ended.set()
        self.ended.set()

    def leave(self, timeout: float) -> bool:
        """Leave when the jobs here have ended; False if they haven't after ``timeout`` seconds."""
        self.membership.leave()
        return self.ended.wait(timeout)

    def close(self) -> None:
        """Cancel what runs here and be gone; closing twice is no error."""
        self.service.close()
        self.engine.close()
        self.membership.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.ended.is_set():
            self.leave(1.0)
        self.close()


def client_of(
    members: MemberOptions,
    security: Security,
    service: MemberService | None = None,
    *,
    name: str,
    workers: int | None = None,
    memory_limit: int | None = None,
) -> RunningMember:
    """A lite member in this process, which coordinates the jobs that are submitted to it, in the cluster of
    these ``members``; ``workers`` and ``memory_limit`` default to what they have, and it opens the same
    files. It is to be closed before the cluster."""
    options = msgspec.structs.replace(
        members,
        name=name,
        listen="",
        user_code=False,
        workers=workers or members.workers,
        memory_limit=memory_limit or members.memory_limit,
    )
    return RunningMember(options, security, service)


def reason_of(error: Error | None) -> str:
    """For a log's last line."""
    return "it has left" if error is None else error.message
