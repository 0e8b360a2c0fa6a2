"""Asking one member's services from a process that is no member."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from sqlfront_cluster.members.messages import JOB_MESSAGES, Answer, Request
from sqlfront_cluster.network.handshake import new_nonce
from sqlfront_cluster.network.line import Line
from sqlfront_cluster.network.tcp import NetworkSettings
from sqlfront_cluster.network.transport import Part
from sqlfront_engine.closing import Closing
from sqlfront_values.errors import OperationalError

#: Seconds that a member may take for an answer.
TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Door:
    """What others need to ask a cluster's members from outside, on behalf of its member ``coordinator``."""

    coordinator: str
    network: NetworkSettings


class Outsider(Closing):
    """Asks the services of the member ``member`` at ``address``, one question after the other, several of
    them before the first answer if need be. Used by one thread. OperationalError, 08006, if the member isn't
    there (any more) or doesn't answer within ``timeout`` seconds."""

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
        """How many answers have not been heard yet."""
        return len(self._asked)

    def send(self, service: str, content: bytes, body: Sequence[Part] = ()) -> None:
        """Ask a :class:`~sqlfront_cluster.members.requests.Service`; the answer is to be heard later."""
        self._count += 1
        self._line.send(Request(self._count, None, service, content), body)
        self._asked.append(self._count)

    def hear(self) -> tuple[bytes, pa.Buffer | None]:
        """The answer to the first question that was not answered yet. Raises the error that the service
        has raised."""
        while True:
            frame = self._line.receive()
            message = frame.message
            # Whatever else is said to all who are connected isn't for outsiders.
            if isinstance(message, Answer) and self._asked and message.request == self._asked[0]:
                break
        self._asked.popleft()
        if message.error is not None:
            raise message.error.error()
        return message.content, frame.body

    def ask(self, service: str, content: bytes, body: Sequence[Part] = ()) -> tuple[bytes, pa.Buffer | None]:
        """Ask, and hear the answer, before which no other may be waited for."""
        self.send(service, content, body)
        return self.hear()

    def close(self) -> None:
        """End the connection."""
        self._line.close()
