"""The start of one member by a command: the cluster's first member is started together with its keeper."""

import secrets

from sqlfront_cluster.launchers.offices import Office, OfficeTenure
from sqlfront_cluster.launchers.running import MemberOptions, MemberService, RunningMember, network_settings
from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.keeper.keeper_settings import KeeperSettings
from sqlfront_cluster.members.keeper.tenure import ONLY_KEEPER
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES
from sqlfront_cluster.members.protocol.keeper_names import KEEPER, keeper_name
from sqlfront_cluster.network.addresses import UNIX_PREFIX, Address, check_reachable
from sqlfront_cluster.network.tcp import TcpTransport
from sqlfront_cluster.network.tls.security import Security
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.scheduler import SystemClock


def new_name(address: str) -> str:
    """Return a name for a new member at ``address``: the address and a random part, since names are never
    reused."""
    return f"{address}#{secrets.token_hex(2)}"


def join(
    bind: str,
    keeper: str,
    security: Security,
    service: MemberService | None = None,
    files: FileAccess = EVERYWHERE,
    *,
    user_code: bool = False,
    processor_modules: tuple[str, ...] = (),
    office: Office | None = None,
) -> RunningMember:
    """Start a member at the address ``bind`` (port 0: a free port) and wait until it has joined the cluster
    whose keeper is at the address ``keeper``. ``security``: the secret and the encryption of the cluster.
    ``service``: the member's :class:`~sqlfront_cluster.launchers.running.MemberService`, None = none.
    ``files``: the files that the member may open. ``user_code``: whether the member runs functions that other
    members send. ``processor_modules``: modules whose processors the member runs anyway. ``office``: the
    office of keeper, where the member finds the keeper, and may become the keeper; None = none. Raises
    OperationalError if the member can't join, ProgrammingError for an address that others can't reach."""
    check_reachable(Address.parse(bind))
    options = MemberOptions(
        new_name(bind),
        keeper,
        bind,
        files=files,
        user_code=user_code,
        processor_modules=processor_modules,
    )
    return RunningMember(options, security, service, office=office)


class FirstMember:
    """The keeper of a new cluster at the address ``bind``, and the cluster's first member, at a free port of
    the same host (at a Unix socket beside the keeper's if ``bind`` is a Unix socket). ``silence_limit``:
    seconds after which the keeper removes a silent member. ``security``: the secret and the encryption of the
    cluster. ``service``: the member's service, None = none. ``files``: the files that the member may open.
    ``user_code``: whether the member runs functions that other members send. ``processor_modules``: modules
    whose processors the member runs anyway. ``office``: the office of the keeper, which another member takes
    when this process ends; None = the cluster ends with this process. Raises ProgrammingError for an address
    that others can't reach."""

    def __init__(
        self,
        bind: str,
        security: Security,
        service: MemberService | None = None,
        silence_limit: float = 5.0,
        files: FileAccess = EVERYWHERE,
        *,
        user_code: bool = False,
        processor_modules: tuple[str, ...] = (),
        office: OfficeTenure | None = None,
    ) -> None:
        check_reachable(Address.parse(bind))
        name = KEEPER if office is None else keeper_name(office.epoch)
        transport = TcpTransport(network_settings(security), MESSAGES, listen=[bind], name=name)
        self.address = transport.addresses[0]
        self._office = office
        self.keeper = Keeper(
            transport,
            SystemClock(),
            KeeperSettings(silence_limit),
            tenure=ONLY_KEEPER if office is None else office,
        )
        try:
            beside = _beside(Address.parse(self.address))
            options = MemberOptions(
                new_name(beside),
                self.address,
                beside,
                silence_limit=silence_limit,
                files=files,
                user_code=user_code,
                processor_modules=processor_modules,
            )
            others = None if office is None else office.office()
            self.running = RunningMember(options, security, service, office=others)
            if office is not None:
                self.running.keep(self.keeper, office)
        except BaseException:
            self.keeper.close()
            raise

    def close(self) -> None:
        """End the first member, and the keeper. Without an office the cluster ends with the keeper."""
        self.running.close()
        if self._office is None:
            self.keeper.close()


def _beside(keeper: Address) -> str:
    if keeper.path is not None:
        return f"{UNIX_PREFIX}{keeper.path}.member"
    return str(Address(keeper.host, 0))
