"""A member that becomes the keeper of its cluster when the keeper is gone."""

import logging
import threading
from typing import Final

from sqlfront_cluster.launchers.keeper_office import RunFile
from sqlfront_cluster.launchers.offices import Office, OfficeTenure
from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.keeper.keeper_settings import KeeperSettings
from sqlfront_cluster.members.membership.keeper_connection import KeeperContact
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES
from sqlfront_cluster.members.protocol.keeper_names import keeper_name
from sqlfront_cluster.network.addresses import UNIX_PREFIX, Address
from sqlfront_cluster.network.tcp import NetworkSettings, TcpTransport
from sqlfront_engine.scheduler import SystemClock
from sqlfront_values.errors import OperationalError

#: Seconds between two attempts at the office while there is no keeper.
PERIOD: Final = 0.1
#: Seconds by which each member lets the members before it in the list go first.
TURN: Final = 0.2

logger = logging.getLogger(__name__)


class KeeperCandidate:
    """A thread of a member's process that watches for the loss of the keeper, and then becomes the keeper if
    it gets the office. The member that has been in the cluster for longest tries first."""

    def __init__(
        self,
        membership: Membership,
        office: Office,
        network: NetworkSettings,
    ) -> None:
        self.keeper: Keeper | None = None
        self._membership, self._office, self._network = membership, office, network
        self._held: OfficeTenure | None = None
        self._lost = threading.Event()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        membership.keeper.watchers.append(self._lost.set)
        threading.Thread(target=self._run, name="sqlfront-keeper-candidate", daemon=True).start()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._lost.wait()
            self._lost.clear()
            try:
                self._stand()
            except Exception:
                logger.exception("member %s could not become the keeper", self._membership.name)

    def _stand(self) -> None:
        """Try to become the keeper until there is one."""
        rank = self._rank()
        if rank is None or self._closed.wait(rank * TURN):
            return
        while not self._closed.is_set() and self._rank() is not None:
            contact = self._membership.keeper.contact()
            if contact is KeeperContact.HEARD:
                return
            present = self._office.present()
            if present is None:
                return
            # The keeper of this process was followed by another one if it is silent.
            silent = contact is KeeperContact.SILENT and present.epoch == self._membership.keeper.epoch
            held = self._office.take(after=present.epoch, silent=silent, member=self._membership.name)
            if held is not None:
                self._begin(held, present)
                return
            self._closed.wait(PERIOD)

    def _rank(self) -> int | None:
        """Return the number of members that may become the keeper before this one; None if this one may
        not."""
        members = self._membership.member.members.data_members
        name = self._membership.name
        return members.index(name) if self._membership.joined and name in members else None

    def _begin(self, held: OfficeTenure, former: RunFile) -> None:
        logger.warning("member %s becomes the keeper (epoch %d)", self._membership.name, held.epoch)
        own = self._membership.settings.address
        try:
            transport = _listening(self._network, former.address or own, own, held.epoch)
        except BaseException:
            held.release()
            raise
        try:
            held.announce(transport.addresses[0], former.folder, self._membership.name)
        except BaseException:  # nobody would find this keeper
            transport.close()
            held.release()
            raise
        with self._lock:
            settings = KeeperSettings(
                self._membership.keeper.lease, len(self._membership.member.members.owners)
            )
            self.keeper = Keeper(transport, SystemClock(), settings, tenure=held, ended=held.ended)
            self._held = held
            closed = self._closed.is_set()
        if closed:
            self.close()

    def keep(self, keeper: Keeper, held: OfficeTenure) -> None:
        """Note that this process has the ``keeper``, with the office ``held``, from the cluster's beginning
        on."""
        with self._lock:
            self.keeper, self._held = keeper, held

    def end_cluster(self) -> bool:
        """End the cluster if this process has its keeper and the cluster is being stopped; return whether
        that is so."""
        with self._lock:
            keeper, held = self.keeper, self._held
        if keeper is None or held is None or not self._office.is_stopping():
            return False
        keeper.end("it was stopped")
        return True

    def close(self) -> None:
        """Stop watching. If this process has the keeper, leave its office to another member."""
        self._closed.set()
        self._lost.set()
        with self._lock:
            keeper, self.keeper = self.keeper, None
            held, self._held = self._held, None
        if keeper is not None and held is not None:
            keeper.resign()
            held.release(ends={*keeper.members.data_members} <= {self._membership.name})


def _listening(network: NetworkSettings, former: str, own: str, epoch: int) -> TcpTransport:
    """Return a transport of the keeper of ``epoch`` at the address of the former keeper. If the former
    keeper's process still has that address, or the address is another machine's, the transport is at another
    address of the host of this member, whose address is ``own``."""
    name = keeper_name(epoch)
    try:
        return TcpTransport(network, MESSAGES, listen=[former], name=name)
    except OperationalError:
        place, here = Address.parse(former), Address.parse(own)
        by_path = place.path is not None
        other = f"{UNIX_PREFIX}{place.path}.{epoch}" if by_path else str(Address(here.host or place.host))
        return TcpTransport(network, MESSAGES, listen=[other], name=name)
