"""Credentials by which a session connects to a cluster: a secret and optional certificates, and the file in
which they are stored.

``sqlfront cluster start`` writes such a file for the clients of its cluster. Only the owner may read the
file: everybody who can read it can use the cluster.
"""

import os
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import asdict, replace

from sqlfront_cluster.network.tls.contexts import TlsSettings
from sqlfront_cluster.network.tls.security import Security
from sqlfront_values.errors import OperationalError, ProgrammingError

SECRET_VARIABLE: Final = "SQLFRONT_SECRET"
CREDENTIALS_VARIABLE: Final = "SQLFRONT_CREDENTIALS"
_NO: Final = ("false", "0", "no")
_YES: Final = ("", "true", "1", "yes")


class Credentials(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of a credentials file, in JSON: the keeper's ``address`` (empty: not given), the
    ``secret``, the certificates for clients that have none (``tls``), and whether the cluster is
    ``insecure``, without encryption."""

    secret: str
    address: str = ""
    tls: TlsSettings | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        return f"Credentials(address={self.address!r})"

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a credentials file. Raises OperationalError if it can't be read or has other content."""
        try:
            content = Path(path).read_bytes()
        except (OSError, ValueError) as error:
            raise OperationalError(f"the credentials file {path} can't be read: {error}") from error
        return cls.parsed(content, path)

    @classmethod
    def parsed(cls, content: bytes, path: str | Path) -> Self:
        """Parse the content of a credentials file; ``path`` is for the error message. Raises OperationalError
        for other content."""
        try:
            return msgspec.json.decode(content, type=cls)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise OperationalError(f"{path} is not a credentials file: {error}") from error


class Protection(msgspec.Struct, frozen=True):
    """A user's settings of a cluster's secret and encryption; None = not set.
    :class:`~sqlfront.config.Config` explains each setting. Making one raises ProgrammingError for settings
    that don't fit together."""

    secret: str | None = None
    credentials: str | None = None
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None
    insecure: bool | None = None

    def __post_init__(self) -> None:
        files = (self.certificate, self.key, self.authority)
        if any(files) and not all(files):
            raise ProgrammingError("certificate, key and authority must be given together")
        if self.insecure and any(files):
            raise ProgrammingError("certificates need encryption, but insecure turns encryption off")

    def __repr__(self) -> str:
        return "Protection(...)"

    @classmethod
    def of_query(cls, query: str) -> Self:
        """Parse the part of a cluster's address after the question mark. Raises ProgrammingError for an
        unknown option; the secret is not an option, either.

        >>> Protection.of_query("insecure").insecure
        True
        """
        given: dict[str, str | bool] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name not in cls.__struct_fields__ or name == "secret":
                known = ", ".join(each for each in cls.__struct_fields__ if each != "secret")
                raise ProgrammingError(
                    f"{name!r} is not an option of a cluster's address; known options: {known}"
                )
            if name == "insecure":
                if value.lower() not in (*_YES, *_NO):
                    raise ProgrammingError(f"insecure={value} in a cluster's address must be true or false")
                given[name] = value.lower() in _YES
            else:
                given[name] = value
        return cls(**given)  # type: ignore[arg-type]

    def or_else(self, other: "Protection") -> "Protection":
        """Return these settings, completed by the settings of ``other`` where these are None."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(other, **said)

    def tls(self) -> TlsSettings | None:
        """Read the files ``certificate``, ``key`` and ``authority``; return None if they are not set. Raises
        OperationalError if the files can't be used."""
        if self.certificate is None or self.key is None or self.authority is None:
            return None
        return TlsSettings.read(self.certificate, self.key, self.authority)

    def found(self, left: Credentials | None = None) -> Credentials:
        """Return complete credentials. What these settings leave out comes from the file ``credentials``;
        without this file, from ``left``, the credentials that a launcher has left on this machine; without
        ``left``, from the variables SQLFRONT_CREDENTIALS (if no secret is set) and SQLFRONT_SECRET. Raises
        ProgrammingError if no secret is found, OperationalError if a file can't be read."""
        file = self.credentials
        if file is None and self.secret is None and left is None:
            file = os.environ.get(CREDENTIALS_VARIABLE) or None
        read = Credentials.read(file) if file is not None else left or Credentials(secret="")
        secret = self.secret or read.secret or os.environ.get(SECRET_VARIABLE, "").strip()
        if not secret:
            raise ProgrammingError(
                "a cluster needs a secret: pass secret=... or credentials=..., or set the variable"
                f" {SECRET_VARIABLE} or {CREDENTIALS_VARIABLE}"
            )
        insecure = read.insecure if self.insecure is None else self.insecure
        tls = None if insecure else self.tls() or read.tls
        return Credentials(secret, read.address, tls, insecure)


def security_of(credentials: Credentials) -> Security:
    """Convert credentials to the security settings that the network layer takes."""
    return Security(credentials.secret.encode(), credentials.tls, credentials.insecure)
