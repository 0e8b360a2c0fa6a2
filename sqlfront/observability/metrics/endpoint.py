"""The HTTP port at which a process serves its metrics.

Sessions of one process with the same address share a port, and their statements are counted together; the
last of these sessions to end closes the port. A forked process serves nothing.
"""

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from threading import Event, RLock, Thread, current_thread
from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront.observability.metrics import collector as collectors
from sqlfront.observability.metrics.tallies import StatementTallies
from sqlfront.observability.observation import Observation
from sqlfront.observability.observer import Observer
from sqlfront.state.plans import Plan
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.network.addresses import Address
from sqlfront_engine.engine import Engine
from sqlfront_planner.plan_cache import PlanCache
from sqlfront_values.errors import OperationalError, ProgrammingError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import prometheus_client as prometheus

    from sqlfront.observability.metrics.collector import Subject
else:
    prometheus = lazy_module("prometheus_client")


class MetricsEndpoint:
    """An open port that serves metrics in Prometheus's text format at every path; :func:`open_endpoint` opens
    it."""

    def __init__(self, address: Address) -> None:
        self.tallies = StatementTallies()
        self._collector = collectors.Collector(self.tallies)
        registry = prometheus.CollectorRegistry()
        registry.register(self._collector)
        try:
            self._server, self._thread = prometheus.start_http_server(address.port, address.host, registry)
        except OSError as error:
            reason = error.strerror or str(error)
            raise OperationalError(
                f"metrics can't be served at {address}: {reason}", sqlstate="08001"
            ) from None
        #: The address with the port in use.
        self.address = str(Address(address.host, self._server.server_port))
        #: The address by which sessions share the endpoint.
        self.key = self.address

    def join(self, subject: "Subject", settle: Callable[[], None] | None = None) -> None:
        """Serve the metrics of ``subject``, too; ``settle`` is called before each scrape."""
        self._collector.subjects.append(subject)
        if settle is not None:
            self._collector.settle.append(settle)

    def leave(self, subject: "Subject", settle: Callable[[], None] | None = None) -> None:
        """Stop serving the metrics of ``subject`` and calling ``settle``; the arguments are those of an
        earlier :meth:`join`."""
        self._collector.subjects.remove(subject)
        if settle is not None:
            self._collector.settle.remove(settle)

    def close(self, closed: Callable[[], None]) -> None:
        """Close the port, wait for the end of its thread, and call ``closed``; on the port's own thread, do
        this on another thread without waiting."""
        if current_thread() is self._thread:  # a finalizer of a session, which would wait for itself
            Thread(target=self._close, args=(closed,), name="sqlfront-metrics-close").start()
        else:
            self._close(closed)

    def _close(self, closed: Callable[[], None]) -> None:
        try:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
        finally:
            closed()

    def forget(self) -> None:
        """Close a forked process's copy of the port; the port of the parent process stays open."""
        self._server.socket.close()


class SessionMetrics:
    """The watcher that counts a session's statements for the metrics at the address ``host:port``.
    ``runner``: the engine or member that runs the session's jobs; ``plans``: the session's plan cache. Raises
    ProgrammingError for a malformed address, OperationalError if the port can't be opened or
    prometheus-client is missing."""

    def __init__(
        self, address: str, observer: Observer, runner: Engine | Member, plans: PlanCache[Plan]
    ) -> None:
        self._endpoint: MetricsEndpoint | None = open_endpoint(address)
        self._settle = observer.settle
        self._subject = collectors.Subject.of(f"session-{observer.number}", runner, plans)
        self._tallies = self._endpoint.tallies
        self._endpoint.join(self._subject, self._settle)
        #: The address with the port in use.
        self.address = self._endpoint.address

    def begun(self, observation: Observation) -> None:
        """Count a running statement."""
        self._tallies.begun(observation)

    def ended(self, observation: Observation) -> None:
        """Count an ended statement."""
        self._tallies.ended(observation)

    def close(self) -> None:
        """Stop serving the session's metrics; the port closes if no other session uses it. Closing twice is
        no error."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            endpoint.leave(self._subject, self._settle)
            close_endpoint(endpoint)


class MemberMetrics:
    """The metrics of a member's process, served at the address ``host:port``. Raises ProgrammingError for a
    malformed address, OperationalError if the port can't be opened or prometheus-client is missing."""

    def __init__(self, address: str) -> None:
        self._endpoint: MetricsEndpoint | None = open_endpoint(address)
        #: The address with the port in use.
        self.address = self._endpoint.address

    def attach(self, member: Member) -> None:
        """Serve the metrics of the member and its engine."""
        assert self._endpoint is not None
        self._endpoint.join(collectors.Subject.of(member.name, member))

    def close(self) -> None:
        """Close the port; closing twice is no error."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            close_endpoint(endpoint)


class _Shared(msgspec.Struct):
    """An endpoint and the number of its users. With no users the endpoint is being closed; the event
    ``closed`` is set when it is closed."""

    endpoint: MetricsEndpoint
    users: int = 0
    closed: Event = msgspec.field(default_factory=Event)


_shared: Final[dict[str, _Shared]] = {}
#: The lock of what is shared. A finalizer of a session may run, and take the lock, while its thread has it.
_locks: Final = [RLock()]


def open_endpoint(text: str) -> MetricsEndpoint:
    """Return the endpoint at the address ``host:port`` (port 0: any free port); the port is opened if this
    process hasn't opened it yet. Each call needs a later call of :func:`close_endpoint`.

    Raises ProgrammingError for a malformed address; OperationalError if prometheus-client is missing, or the
    port can't be opened, for example since another process uses it.
    """
    address = parsed(text)
    if find_spec("prometheus_client") is None:
        raise OperationalError("prometheus-client is not installed: pip install 'sqlfront[metrics]'")
    while True:
        with _locks[0]:
            shared = _shared.get(text)
            if shared is None:
                endpoint = MetricsEndpoint(address)
                # A port 0 is a new port each time.
                endpoint.key = text if address.port else endpoint.address
                _shared[endpoint.key] = _Shared(endpoint, 1)
                return endpoint
            if shared.users:
                shared.users += 1
                return shared.endpoint
        shared.closed.wait()


def close_endpoint(endpoint: MetricsEndpoint) -> None:
    """Give up an endpoint that :func:`open_endpoint` has returned; the port closes once each of its users has
    called this function."""
    with _locks[0]:
        shared = _shared.get(endpoint.key)
        if shared is None or shared.endpoint is not endpoint:  # that of the process that forked this one
            return
        shared.users -= 1
        if shared.users:
            return
    # Without the lock: closing waits for the port's thread, where a finalizer of a session may take the lock.
    endpoint.close(partial(_closed, shared))


def _closed(shared: _Shared) -> None:
    with _locks[0]:
        if _shared.get(shared.endpoint.key) is shared:
            del _shared[shared.endpoint.key]
    shared.closed.set()


def parsed(text: str) -> Address:
    """Parse the address ``host:port`` for metrics. Raises ProgrammingError for another text."""
    try:
        address = Address.parse(text)
    except (ProgrammingError, OperationalError) as error:
        raise ProgrammingError(f"metrics take an address host:port, not {text!r}: {error.message}") from None
    if address.path is not None:
        raise ProgrammingError(f"metrics take an address host:port, not {text!r}")
    return address


def _forget_endpoints() -> None:
    _locks[0] = RLock()
    for shared in _shared.values():
        shared.endpoint.forget()
    _shared.clear()


os.register_at_fork(after_in_child=_forget_endpoints)
