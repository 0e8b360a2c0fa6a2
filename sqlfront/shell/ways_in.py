"""The lines with which ``sqlfront cluster start`` tells how to connect to the cluster."""

import ipaddress
import shlex
from pathlib import Path
from urllib.parse import quote

from sqlfront_cluster.network.addresses import Address


def ways_in(directory: Path | None) -> list[str]:
    """Return the lines that tell how to connect from this machine: by the command, in Python, and by a URL
    for other programs. ``directory``: the absolute path of the cluster's directory, None = the default one.

    >>> print("\\n".join(ways_in(Path("/data/my run"))))
    connect from this machine:
      shell   sqlfront --cluster '/data/my run'
      Python  sqlfront.connect(cluster='/data/my run')
      URL     sqlfront+cluster:///data/my%20run
    >>> print(*ways_in(None)[1:], sep="\\n")
      shell   sqlfront --cluster sqlfront://
      Python  sqlfront.connect('sqlfront://')
      URL     sqlfront+cluster://
    """
    if directory is None:
        url, cluster, call = "sqlfront+cluster://", "sqlfront://", "'sqlfront://'"
    else:
        url, cluster = f"sqlfront+cluster://{quote(str(directory))}", str(directory)
        call = f"cluster={cluster!r}"
    return [
        "connect from this machine:",
        f"  shell   sqlfront --cluster {shlex.quote(cluster)}",
        f"  Python  sqlfront.connect({call})",
        f"  URL     {url}",
    ]


def for_others(address: str, credentials: Path, *, own_certificates: bool, insecure: bool) -> list[str]:
    """Return the lines that tell how clients on other machines connect to the keeper at ``address``, and what
    protects the connections; none for a Unix socket. ``credentials``: the path of the credentials file.
    ``own_certificates``: the members were given certificates. ``insecure``: nothing is encrypted.

    >>> print(*for_others("10.0.0.1:7654", Path("c.json"), own_certificates=False, insecure=False), sep="\\n")
    for clients on other machines: c.json
      encrypted; the file has secret and certificate: give it to those whom you trust with all data
    >>> print(*for_others("127.0.0.1:7654", Path("c.json"), own_certificates=False, insecure=True), sep="\\n")
    for clients on other machines: c.json
      NOT encrypted (--insecure): whoever is on the way can read all data, and alter it
      127.0.0.1 is reached from this machine only; --bind takes an address of the network, too
    """
    host = Address.parse(address).host
    if not host:
        return []
    if insecure:
        protection = "NOT encrypted (--insecure): whoever is on the way can read all data, and alter it"
    elif own_certificates:
        protection = (
            "encrypted by your certificates; the file has the secret: give it to those whom you trust"
        )
    else:
        protection = (
            "encrypted; the file has secret and certificate: give it to those whom you trust with all data"
        )
    lines = [f"for clients on other machines: {credentials}", f"  {protection}"]
    if _is_loopback(host):
        lines.append(
            f"  {host} is reached from this machine only; --bind takes an address of the network, too"
        )
    return lines


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
