"""A cluster whose members are tasks on a Spark session's executors; the cluster's keeper runs in the driver's
process."""

import itertools
import logging
import secrets
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlfront_cluster.launchers.running import (
    KeptCluster,
    MemberOptions,
    network_settings,
)
from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.keeper.keeper_settings import KeeperSettings
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES
from sqlfront_cluster.members.protocol.keeper_names import KEEPER
from sqlfront_cluster.network.addresses import Address, own_address
from sqlfront_cluster.network.tcp import TcpTransport
from sqlfront_cluster.network.tls.contexts import TlsSettings
from sqlfront_cluster.network.tls.security import Security
from sqlfront_connectors.spark.executors.capacity import (
    await_capacity,
    setting,
)
from sqlfront_connectors.spark.executors.job import BarrierJob
from sqlfront_connectors.spark.executors.member import CROWDED, ExecutorOrders
from sqlfront_connectors.spark.failures import GONE
from sqlfront_connectors.spark.link import is_remote, while_it_lasts
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.scheduler import SystemClock
from sqlfront_values.errors import DatabaseError, OperationalError

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile
    from pyspark.sql import SparkSession

#: Time limit for the members to join (s): Spark may have to wait for slots, and to start Python.
START_TIMEOUT: Final = 120.0
#: Time limit for replacing lost members, and the time between two attempts (s): Spark has to replace a lost
#: executor first.
REPLACE_TIMEOUT: Final = 60.0
RETRY: Final = 1.0
#: Time limit for the job to end by itself (s); the user's program waits so long at its exit.
STOP_TIMEOUT: Final = 5.0

#: A port to which nothing is sent.
_ANY_PORT: Final = 9

logger = logging.getLogger(__name__)


class ExecutorCluster(KeptCluster):
    """A cluster of ``size`` members (None: as many as the session has executors), one on each executor, ready
    when the constructor returns.

    The members are the tasks of one barrier job, which lasts as long as the cluster. The keeper runs in this
    process and listens at ``host`` (None: the driver's address). When a member is lost, Spark ends the whole
    job: running jobs of the members fail, and new members without data are started.

    ``workers``: threads of each member that run tasklets, None = one per slot of the executor.
    ``memory_limit``: bytes of each member, None = six tenths of the host's memory, divided among the members
    on the host. ``silence_limit``: seconds without a message after which a member counts as lost.
    ``preload``: modules to import in each member, which register processors; their packages must be installed
    on the executors or be among those that sqlfront brings. ``profile``: the resources that Spark reserves
    for each member; one slot must remain. ``files``: the files that members may open. ``user_code``: True if
    members run functions that clients send. ``processor_modules``: modules whose processors members run
    anyway. ``secret``: what members and clients must know to connect, and
    ``tls``: the certificates by which connections are encrypted; None = made for this cluster. Each task
    receives both. ``insecure``: connections aren't encrypted.

    Raises NotSupportedError if the session allocates executors dynamically; OperationalError for too few
    executors or slots, or if members can't be started.
    """

    def __init__(
        self,
        spark: "SparkSession",
        size: int | None = None,
        *,
        workers: int | None = None,
        memory_limit: int | None = None,
        silence_limit: float = 5.0,
        preload: Sequence[str] = (),
        secret: bytes | None = None,
        host: str | None = None,
        profile: "ResourceProfile | None" = None,
        files: FileAccess = EVERYWHERE,
        user_code: bool = False,
        processor_modules: Sequence[str] = (),
        tls: TlsSettings | None = None,
        insecure: bool = False,
    ) -> None:
        super().__init__()
        self.secret = secrets.token_bytes(32) if secret is None else secret
        #: The credentials of the cluster.
        self.security = Security(self.secret, tls, insecure).with_certificates()
        self._spark, self._profile = spark, profile
        self.size, cores = await_capacity(spark, size, profile)
        self._preload = tuple(preload)
        self._names: tuple[str, ...] = ()
        self._job: BarrierJob | None = None
        self._numbers = itertools.count()
        self._closing = False
        self._supervisor: threading.Thread | None = None
        bind, advertised = _driver_hosts(spark) if host is None else (host, host)
        transport = TcpTransport(
            network_settings(self.security), MESSAGES, listen=[str(Address(bind))], name=KEEPER
        )
        #: The address of the keeper.
        self.address = str(Address(advertised, Address.parse(transport.addresses[0]).port))
        self._options = MemberOptions(
            "",
            self.address,
            "",
            workers or cores,
            memory_limit,
            silence_limit,
            files,
            user_code,
            tuple(processor_modules),
        )
        self.keeper = Keeper(transport, SystemClock(), KeeperSettings(silence_limit), on_list=self._notify)
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        self._supervisor = threading.Thread(target=self._supervise, name="sqlfront-supervisor", daemon=True)
        self._supervisor.start()

    # ---- the members' job

    def _start(self) -> None:
        """Start a barrier job, and wait until its members have joined the cluster. While an executor is new
        or busy, Spark may put two members on one executor; then the job is started again. Raises
        OperationalError with SQLSTATE 08001 if the members have not joined within :data:`START_TIMEOUT`
        seconds, or if the job fails."""
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            failure = self._try(deadline)
            if failure is None or self._closing:
                return
            if not failure.startswith(CROWDED) or time.monotonic() >= deadline:
                raise OperationalError(
                    f"members could not be started on the executors: {failure}", sqlstate="08001"
                )
            self._pause()

    def _try(self, deadline: float) -> str | None:
        """Start one barrier job, and return None once all its members have joined the cluster. If the job
        ends, or ``deadline`` (s, of ``time.monotonic``) passes before, end the job and return the reason why
        members have not joined."""
        self._names = tuple(f"executor-{next(self._numbers)}" for _ in range(self.size))
        orders = ExecutorOrders(self._options, self._names, self.security, self._preload)
        self._job = job = BarrierJob(self._spark, self.size, orders, self._profile, self._notify)
        with self._changed:
            self._changed.wait_for(
                lambda: self._closing or self._ended or self._complete, deadline - time.monotonic()
            )
        if self._complete:
            return None
        failure = (
            job.outcome or f"the members have not joined within {START_TIMEOUT:g} s; are all slots taken?"
        )
        self._end_job(failure)
        return failure

    def _pause(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing, RETRY)

    @property
    def _ended(self) -> bool:
        return self._job is None or self._job.outcome is not None

    @property
    def _complete(self) -> bool:
        return all(name in self.members for name in self._names)

    def _end_job(self, reason: str) -> None:
        """Remove the members of the present job from the cluster, giving ``reason``, and cancel the job if it
        still runs."""
        for name in self._names:
            self.keeper.remove(name, reason)
        if self._job is not None:
            self._job.end(0)

    def _supervise(self) -> None:
        """Wait for the loss of a member and start new members, again and again until the cluster is
        closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._ended or not self._complete)
            if self._closing:
                return
            assert self._job is not None
            lost = [name for name in self._names if name not in self.members]
            reason = self._job.outcome or f"{', '.join(lost)} was lost"
            logger.warning("the barrier job of the members ends: %s", reason)
            self._end_job(f"the barrier job of the members has ended: {reason}")
            if not self._replace():
                return

    def _replace(self) -> bool:
        """Start a new barrier job in place of the ended one, and return True once its members have joined.
        Return False if the cluster was closed meanwhile, or if new members can't be started in time; in the
        latter case the cluster is ended."""
        deadline = time.monotonic() + REPLACE_TIMEOUT
        while not self._closing:
            try:
                with while_it_lasts(self._spark):
                    await_capacity(self._spark, self.size, self._profile)
                    self._start()
                self.keeper.rebalance()
                return True
            except DatabaseError as error:
                logger.warning("lost members could not be replaced: %s", error.message)
                if error.sqlstate == GONE or time.monotonic() >= deadline:
                    self.keeper.end(error.message)
                    return False
            self._pause()
        return False

    # ---- the end

    def close(self) -> None:
        """End the members, their barrier job and the keeper; a second call is no error."""
        self._closing = True
        self._notify()
        self.keeper.end("its launcher was stopped")
        if self._supervisor is not None:
            self._supervisor.join()
        if self._job is not None:
            self._job.end(STOP_TIMEOUT)
        self.keeper.close()


def _driver_hosts(spark: "SparkSession") -> tuple[str, str]:
    """Return two host names or addresses: the one on which the keeper listens, and the one by which executors
    connect to the keeper."""
    host = setting(spark, "spark.driver.host")
    if is_remote(spark):  # the driver is another process, perhaps on another machine
        return (own_address(Address(host, _ANY_PORT)),) * 2
    return setting(spark, "spark.driver.bindAddress") or host, host
