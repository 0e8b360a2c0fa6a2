"""For processes that are to lose connections: SIGUSR1 breaks one of theirs, chosen at random."""

import random
import signal
from contextlib import suppress

from sqlfront_cluster.launchers import running
from sqlfront_cluster.network.tcp import TcpTransport

_transports: list[TcpTransport] = []


class KnownTransport(TcpTransport):
    """A transport that can be found."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        _transports.append(self)


def cut_one(transport: TcpTransport) -> None:
    """Break a connection, as if the network had: nobody says goodbye."""
    connections = transport._connections.in_use()
    if connections:
        with suppress(OSError):
            random.choice(connections).channel.shutdown()


def obey() -> None:
    """Cut when told to."""
    running.TcpTransport = KnownTransport  # type: ignore[attr-defined]
    signal.signal(signal.SIGUSR1, lambda *_: cut_one(_transports[0]))
