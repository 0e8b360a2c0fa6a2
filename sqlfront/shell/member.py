"""The process of ``sqlfront member``: a member of a cluster that is found by its keeper's address or by its
directory."""

import base64
import logging
import secrets
from functools import partial
from typing import Final

import msgspec

from sqlfront.cluster.addresses import run_directory
from sqlfront.cluster.cluster_settings import DEFAULT_CLUSTER_SETTINGS, ClusterSettings, begin_with
from sqlfront.cluster.credentials import Credentials, Protection, security_of
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront.cluster.run_files import begin_or_find, clear, leave_credentials, new_sockets
from sqlfront_cluster.launchers import store_office
from sqlfront_cluster.launchers.by_hand import FirstMember, join
from sqlfront_cluster.launchers.child import serve
from sqlfront_cluster.launchers.handover_rules import NO_HANDOVER, HandoverRules
from sqlfront_cluster.launchers.keeper_office import CREDENTIALS, HeldOffice, KeeperOffice, RunFile
from sqlfront_cluster.launchers.offices import Office, OfficeTenure
from sqlfront_cluster.launchers.running import MemberService, RunningMember
from sqlfront_cluster.launchers.store_office import StoreOffice
from sqlfront_cluster.network.addresses import UNIX_PREFIX
from sqlfront_cluster.network.tls.security import Security
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.scheduler import SystemClock
from sqlfront_values.errors import OperationalError, ProgrammingError

logger = logging.getLogger(__name__)

#: Seconds that a member waits for a cluster that another process begins in the same directory.
_PATIENCE: Final = 30.0


class MemberStart(msgspec.Struct, frozen=True):
    """The start of a member of a cluster. ``bind``: the member's address, None = a Unix socket.
    ``protection``: the secret and the encryption as given. ``tables``: the member's service. ``files``: the
    files that it may open. ``user_code``: whether it runs functions that others send. ``modules``: modules
    whose processors it runs anyway. ``rules``: the bounds of its handover. ``store``: the path or URL of the
    job store, which decides on the keeper if all members have it; None = none. ``settings``: those of a
    cluster that the member begins."""

    bind: str | None
    protection: Protection
    tables: MemberService
    files: FileAccess
    user_code: bool
    modules: tuple[str, ...]
    rules: HandoverRules
    store: str | None = None
    settings: ClusterSettings = DEFAULT_CLUSTER_SETTINGS

    @property
    def address(self) -> str:
        """The member's address. Raises ProgrammingError if none was given."""
        if self.bind is None:
            raise ProgrammingError("a member needs an address, --bind, or a cluster's directory, --directory")
        return self.bind

    def joined(self, keeper: str, security: Security, office: Office | None) -> RunningMember:
        """Join the cluster whose keeper is at the address ``keeper``; ``office``: the office of keeper, None
        = none."""
        return join(
            self.address,
            keeper,
            security,
            self.tables,
            self.files,
            user_code=self.user_code,
            processor_modules=self.modules,
            office=office,
        )

    def first(self, security: Security, office: OfficeTenure | None) -> FirstMember:
        """Begin a cluster, and return its keeper and first member."""
        first = FirstMember(
            self.address,
            security,
            self.tables,
            files=self.files,
            user_code=self.user_code,
            processor_modules=self.modules,
            office=office,
        )
        try:
            begin_with(first.running, self.settings)
        except BaseException:
            first.close()
            raise
        return first

    def serve(self, running: RunningMember, told: str, *, rules: HandoverRules | None = None) -> int:
        """Print the line ``told``, and run the member until its end; ``rules``: the bounds of its handover,
        None = as given. Returns the exit code of the process."""
        return serve(
            running,
            wait_for_input=False,
            ready=partial(print, told, flush=True),
            rules=self.rules if rules is None else rules,
        )


def run_by_address(start: MemberStart, keeper: str | None) -> int:
    """Run a member of the cluster whose keeper is at the address ``keeper``; None: run the keeper and the
    first member of a new cluster, which ends with this process unless there is a store. Returns the exit
    code."""
    security = security_of(start.protection.found())
    if keeper is not None:
        running = start.joined(keeper, security, _office(start, keeper))
        return start.serve(running, f"member {running.membership.name} has joined {keeper}")
    if start.store is not None:
        return _begin_with_store(start, start.store, security)
    first = start.first(security, None)
    logger.warning(
        "the cluster, its memory tables and views end with this process: without --directory or --job-store"
        " no other member can become the keeper"
    )
    try:
        # The cluster ends with its keeper, so that nobody would read rows that were handed over.
        return start.serve(first.running, _keeps(first), rules=NO_HANDOVER)
    finally:
        first.close()


def _office(start: MemberStart, keeper: str) -> Office | None:
    """Return the office of keeper in the store; None if there is no store, or the keeper doesn't use it."""
    office = None if start.store is None else StoreOffice.found(start.store, SystemClock(), keeper)
    if start.store is not None and office is None:
        logger.warning(
            "the keeper at %s doesn't use the store %s: the cluster ends with it", keeper, start.store
        )
    return office


def _begin_with_store(start: MemberStart, store: str, security: Security) -> int:
    office = store_office.begin(store, SystemClock())
    try:
        first = start.first(security, office)
    except BaseException:
        office.release(ends=True)
        raise
    try:
        office.announce(first.address, "")
    except OSError as error:
        first.close()
        raise OperationalError(f"the store {store} can't be written: {error}") from error
    return start.serve(first.running, _keeps(first))


def run_in_directory(start: MemberStart, given: str) -> int:
    """Run a member of the cluster whose files are in the directory ``given``, and which any of its members
    keeps: the first one begins the cluster, and another one becomes the keeper when the keeper is gone.
    Returns the exit code."""
    with run_directory(given) as directory:
        found = begin_or_find(directory, _PATIENCE)
        if isinstance(found, RunFile):
            return _join_there(start, directory, found)
        try:
            first, sockets = _begin_there(start, directory, found)
        except BaseException:
            clear(directory)
            found.release()
            raise
        found.announce(first.address, sockets, first.running.membership.name)
    return start.serve(first.running, _keeps(first))


def _keeps(first: FirstMember) -> str:
    return f"member {first.running.membership.name} keeps a new cluster at {first.address}"


def _begin_there(start: MemberStart, directory: PrivateFolder, office: HeldOffice) -> tuple[FirstMember, str]:
    """Begin a cluster in the directory, with a new secret if none is given. Returns the first member, and the
    folder of the members' sockets."""
    new = Credentials(base64.b64encode(secrets.token_bytes(32)).decode())
    credentials = start.protection.found(new)
    sockets = new_sockets()
    bound = start if start.bind is not None else _at_socket(start, sockets)
    first = bound.first(security_of(credentials), office)
    leave_credentials(
        directory,
        credentials.secret,
        first.address,
        own_certificates=credentials.tls is not None,
        insecure=credentials.insecure,
    )
    return first, sockets


def _join_there(start: MemberStart, directory: PrivateFolder, running: RunFile) -> int:
    left = Credentials.parsed(directory.read(CREDENTIALS), CREDENTIALS)
    bound = start if start.bind is not None else _at_socket(start, running.folder)
    security = security_of(start.protection.found(left))
    office = KeeperOffice(str(directory.path.absolute()))
    member = bound.joined(running.address, security, office)
    return start.serve(member, f"member {member.membership.name} has joined {running.address}")


def _at_socket(start: MemberStart, folder: str) -> MemberStart:
    return msgspec.structs.replace(start, bind=f"{UNIX_PREFIX}{folder}/{secrets.token_hex(4)}")
