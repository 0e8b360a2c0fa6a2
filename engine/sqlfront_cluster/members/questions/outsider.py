"""Requests to the services of one member from a process that isn't a member."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from sqlfront_cluster.members.protocol.messages import JOB_MESSAGES, Answer, Request
from sqlfront_cluster.network.handshake import new_nonce
from sqlfront_cluster.network.line import Line
from sqlfront_cluster.network.tcp import NetworkSettings
from sqlfront_cluster.network.transport import Part
from sqlfront_engine.closing import ClosingContext
from sqlfront_values.errors import OperationalError

#: Seconds in which a member has to answer; a longer silence fails the Spark task that asks, which Spark runs
#: again.
TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class ServiceAccess:
    """The data that a process outside of the cluster needs to make requests to members. ``network``: the
    settings of connections in the cluster. ``coordinator``: the name of the member on whose behalf the
    process makes its requests."""

    coordinator: str
    network: NetworkSettings


class Outsider(ClosingContext):
    """A connection from a process outside of the cluster to one member, for requests to the member's
    services.

    ``member``: the member's name. ``address``: the member's address. Several questions may be sent before the
    first answer is received. Only one thread may use the connection. The constructor and the methods raise
    OperationalError with SQLSTATE 08006 if the member can't be reached or doesn't answer within ``timeout``
    seconds."""

    def __init__(
        self, settings: NetworkSettings, address: str, member: str, timeout: float = TIMEOUT
    ) -> None:
        name = f"outside-{new_nonce().hex()[:16]}"
        self._line = Line(settings, JOB_MESSAGES, address, name, timeout)
        self._asked: deque[int] = deque()
        self._count = 0
        if self._line.member != member:
            self.close()
            raise OperationalError(
                f"at {address} there is member {self._line.member} instead of {member}", sqlstate="08006"
            )

    @property
    def unanswered(self) -> int:
        """The number of questions whose answers have not been received yet."""
        return len(self._asked)

    def send(self, service: str, content: bytes, body: Sequence[Part] = ()) -> None:
        """Send a question to the member's service with the key ``service``, a
        :class:`~sqlfront_cluster.members.questions.requests.RequestService`; receive the answer later with
        :meth:`hear`. ``content``: the question, in the service's form. ``body``: large data for a
        :class:`~sqlfront_cluster.members.questions.requests.BodyService`; other services ignore it. Raises
        OperationalError if the connection breaks."""
        self._count += 1
        self._line.send(Request(self._count, None, service, content), body)
        self._asked.append(self._count)

    def hear(self) -> tuple[bytes, pa.Buffer | None]:
        """Wait for the answer to the oldest unanswered question; returns its content and its body (None: no
        body). Raises the service's error, or OperationalError if the connection breaks."""
        while True:
            frame = self._line.receive()
            message = frame.message
            # Messages to all connections aren't meant for outsiders.
            if isinstance(message, Answer) and self._asked and message.request == self._asked[0]:
                break
        self._asked.popleft()
        if message.error is not None:
            raise message.error.error()
        return message.content, frame.body

    def ask(self, service: str, content: bytes, body: Sequence[Part] = ()) -> tuple[bytes, pa.Buffer | None]:
        """Send a question to the member's service with the key ``service``, wait for the answer, and return
        the answer's content and body (None: no body). There must be no unanswered question. ``content``: the
        question, in the service's form. ``body``: large data. Raises the service's error, or OperationalError
        if the connection breaks."""
        self.send(service, content, body)
        return self.hear()

    def close(self) -> None:
        """End the connection."""
        self._line.close()
