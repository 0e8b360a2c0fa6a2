"""A networked member (or client) of a cluster in the process that uses it, with methods that wait."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from threading import Condition, Event
from types import TracebackType
from typing import Final, Protocol, Self

import msgspec

from sqlfront_cluster.launchers.handover_rules import DEFAULT_RULES, HandoverRules
from sqlfront_cluster.launchers.keeper_office import KeeperOffice
from sqlfront_cluster.launchers.next_keeper import KeeperCandidate
from sqlfront_cluster.launchers.offices import Office, OfficeTenure
from sqlfront_cluster.launchers.told_keeper import PlaceTeller, ToldKeeper
from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.membership.membership_state import MembershipSettings
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES
from sqlfront_cluster.members.protocol.keeper_names import KEEPER
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.network.tcp import NetworkSettings, TcpTransport
from sqlfront_cluster.network.tls.security import Security
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.engine import Engine
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_values.errors import Error, OperationalError

#: The version that members show each other in the handshake.
PRODUCT: Final = "0.1.0"
#: Seconds of joining at most: a cluster that doesn't answer becomes an error of the user's statement.
JOIN_TIMEOUT: Final = 30.0


class MemberOptions(msgspec.Struct, frozen=True):
    """The options of a member or client.

    ``name``: unique in the cluster and never used before. ``keeper``: the keeper's address.
    ``silence_limit``: seconds to wait for the keeper's first answer. ``listen``: the member's address, empty
    for a client (a client owns no partitions and accepts no connections). ``workers``: threads that run
    tasklets, None = one per core. ``memory_limit``: bytes that jobs may hold, None = six tenths of the
    machine's memory. ``files``: the files that jobs may open on the member. ``user_code``: whether the member
    runs functions that other members send. ``processor_modules``: modules whose processors it runs anyway.
    ``observes``: a client that gets no place in the member list, and submits its jobs to members.
    ``handover``: the bounds of the handover when the member leaves.
    ``office``: the folder of the keeper's office
    (:mod:`sqlfront_cluster.launchers.keeper_office`), where the member finds the keeper, and takes its place
    when it is gone; empty = the keeper stays at its address, and the member ends with it."""

    name: str
    keeper: str
    listen: str = ""
    workers: int | None = None
    memory_limit: int | None = None
    silence_limit: float = 5.0
    files: FileAccess = EVERYWHERE
    user_code: bool = False
    processor_modules: tuple[str, ...] = ()
    observes: bool = False
    handover: HandoverRules = DEFAULT_RULES
    office: str = ""


class MemberService(Protocol):
    """An object that adds a service to a member, such as the store of the member's shares of tables."""

    @property
    def resources(self) -> Mapping[str, object]:
        """The objects that the service gives the member, by key: objects that processors of jobs look up on
        this member, and services that answer the requests of other members."""

    def attach(self, running: "RunningMember") -> None:
        """Receive the member to which the service belongs; called once, before the member joins its
        cluster."""

    def hand_over(self, is_over: Callable[[], bool], *, forced: bool) -> bool:
        """Move to other members what is lost otherwise when the member ends; called before the member begins
        to leave its cluster. Returns True if all was moved; False if ``is_over`` returned True before, or,
        with ``forced``, if the other members have no room for the rest. Raises OperationalError if they have
        no room and the handover is not ``forced``; then the member has to stay."""

    def leave(self) -> None:
        """Stop work that other members can take over; called before the member begins to leave its
        cluster."""

    def close(self) -> None:
        """Release what the service holds; called when its member ends."""


class Resources:
    """A :class:`MemberService` that only has resources, and does nothing itself."""

    def __init__(self, resources: Mapping[str, object] = NO_RESOURCES) -> None:
        self.resources = resources

    def attach(self, running: "RunningMember") -> None:
        """Do nothing: the resources need no member."""

    def hand_over(self, is_over: Callable[[], bool], *, forced: bool) -> bool:
        """Return True: the resources have nothing that others could miss."""
        return True

    def leave(self) -> None:
        """Do nothing: the resources do no work."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def network_settings(security: Security) -> NetworkSettings:
    """Return the settings of connections that all members, clients and the keeper of a cluster with this
    ``security`` use."""
    return NetworkSettings(
        cluster="sqlfront",
        secret=security.secret,
        product=PRODUCT,
        tls=security.tls,
        insecure=security.insecure,
        never_calls=KEEPER,
    )


class RunningMember:
    """A networked member or client in this process, from its joining to its end; the constructor waits until
    the member has joined its cluster.

    ``security``: the secret and the encryption of the cluster. ``service``: the member's service, None =
    none. ``locate``: returns the present address of the keeper; None = found by the office or the options.
    ``office``: the office of keeper in which the member takes the keeper's place when it is gone; None =
    that of the options. Raises OperationalError if the cluster doesn't exist or refuses the member.
    """

    def __init__(
        self,
        options: MemberOptions,
        security: Security,
        service: MemberService | None = None,
        locate: Callable[[], str] | None = None,
        office: Office | None = None,
    ) -> None:
        #: The reason for the member's end; None before the end, and after leaving or closing.
        self.error: OperationalError | None = None
        self.ended = Event()
        self._joined_or_ended = Event()
        #: The network settings of the cluster.
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
            processor_modules=options.processor_modules,
        )
        if office is None and options.office:
            office = KeeperOffice(options.office)
        if locate is None and office is not None:
            locate = partial(_address, office, options.keeper)
        teller = PlaceTeller()
        told = None if options.listen else ToldKeeper(locate or (lambda: options.keeper))
        self.membership = Membership(
            self.engine,
            transport,
            MembershipSettings(
                options.keeper,
                transport.addresses[0] if options.listen else "",
                lite=not options.listen,
                silence_limit=options.silence_limit,
                observes=options.observes,
            ),
            teller.beside(service.resources if service is not None else NO_RESOURCES),
            self._joined_or_ended.set,
            self._end,
            told.address if told is not None else locate,
        )
        teller.keeper = self.membership.keeper
        if told is not None:
            told.membership = self.membership
        self._candidate: KeeperCandidate | None = None
        # Ends what shows others that this process is a member of the office's cluster.
        self._leave_office: Callable[[], None] = _nothing
        self.service = service or Resources()
        try:
            if office is not None and options.listen:
                self._leave_office = office.enter()
            self.service.attach(self)
            self.membership.join()
            self._await_joined(options)
            if office is not None and options.listen:
                self._candidate = KeeperCandidate(self.membership, office, self.network)
        except BaseException:
            self.close()
            raise

    @property
    def member(self) -> Member:
        """The member itself, which runs and coordinates jobs."""
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

    def keep(self, keeper: Keeper, held: OfficeTenure) -> None:
        """Note that the ``keeper`` of the cluster, with the office ``held``, is in this process: it ends with
        the member, and another member becomes the keeper then. The member's options must have an office."""
        assert self._candidate is not None
        self._candidate.keep(keeper, held)

    def end_stopped_cluster(self) -> bool:
        """End the cluster if its keeper is in this process and the cluster is being stopped; return whether
        that is so."""
        return self._candidate is not None and self._candidate.end_cluster()

    def leave(self, timeout: float) -> bool:
        """Begin to leave the cluster, and wait at most ``timeout`` seconds until the jobs on this member have
        ended and the member has left. Returns True if the member has ended by then."""
        self.service.leave()
        self.membership.leave()
        return self.ended.wait(timeout)

    def close(self) -> None:
        """Cancel all jobs on this member and end the member; a second call is no error."""
        self.service.close()
        if self._candidate is not None:
            self._candidate.close()
        self.engine.close()
        self.membership.close()
        leave, self._leave_office = self._leave_office, _nothing
        leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.ended.is_set():
            self.leave(1.0)
        self.close()


class KeptCluster(ClosingContext):
    """The base class of launchers whose cluster's keeper runs in this process. A subclass starts the keeper
    and the members: its constructor sets ``address`` (the keeper's), ``security``, ``keeper`` and
    ``_options`` (the options of every member, from which those of clients are derived too), and its
    :meth:`close` ends the cluster."""

    #: The address of the keeper.
    address: str
    #: The credentials of the cluster.
    security: Security
    keeper: Keeper
    _options: MemberOptions

    def __init__(self) -> None:
        self._changed = Condition()
        self._clients = count(1)

    @property
    def members(self) -> MemberList:
        """The keeper's current member list."""
        return self.keeper.members

    def client(
        self,
        name: str | None = None,
        service: MemberService | None = None,
        *,
        workers: int | None = None,
        memory_limit: int | None = None,
    ) -> RunningMember:
        """Start a client, a lite member in this process that coordinates the jobs submitted to it, and wait
        until it has joined. ``name``: unique in the cluster, None = a new name. ``service``: the client's
        service, None = none. ``workers`` and ``memory_limit`` (bytes): None = the members' values. The client
        may open the same files as the members, and runs no functions that others send. Close the client
        before the cluster."""
        options = msgspec.structs.replace(
            self._options,
            name=name or f"client-{os.getpid()}-{next(self._clients)}",
            keeper=self.address,
            listen="",
            user_code=False,
            workers=workers or self._options.workers,
            memory_limit=memory_limit or self._options.memory_limit,
        )
        return RunningMember(options, self.security, service)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _address(office: Office, former: str) -> str:
    """Return the address of the office's keeper; ``former`` if there is none."""
    present = office.present()
    return (present.address if present is not None else "") or former


def _nothing() -> None:
    """Do nothing."""


def reason_of(error: Error | None) -> str:
    """Return the reason of a member's end as text for the last line of the log. ``error``: the error that
    ended the member, None = the member has left."""
    return "it has left" if error is None else error.message
