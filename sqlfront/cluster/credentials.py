"""What opens a cluster for a session: a secret, perhaps certificates, and the file that holds them all.

``sqlfront cluster start`` writes such a file for the clients of its cluster; it is made for its owner alone,
and whoever may read it may use the cluster.
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
    """The content of a credentials file, in JSON: the keeper's ``address`` (empty: not told), the ``secret``,
    a certificate for the client, if it needs none of its own, and whether the cluster is ``insecure``."""

    secret: str
    address: str = ""
    tls: TlsSettings | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        return f"Credentials(address={self.address!r})"

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """From the file; OperationalError if it can't be read or is none."""
        try:
            content = Path(path).read_bytes()
        except (OSError, ValueError) as error:
            raise OperationalError(f"the credentials file {path} can't be read: {error}") from error
        return cls.parsed(content, path)

    @classmethod
    def parsed(cls, content: bytes, path: str | Path) -> Self:
        """From the content of the file at that path; OperationalError if it is none."""
        try:
            return msgspec.json.decode(content, type=cls)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise OperationalError(f"{path} is no credentials file: {error}") from error


class Protection(msgspec.Struct, frozen=True):
    """What somebody says of how a cluster is opened and its connections are protected: each part as
    :class:`~sqlfront.config.Config` explains it, None = not said."""

    secret: str | None = None
    credentials: str | None = None
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None
    insecure: bool | None = None

    def __post_init__(self) -> None:
        files = (self.certificate, self.key, self.authority)
        if any(files) and not all(files):
            raise ProgrammingError("certificate, key and authority are given together, or none of them")
        if self.insecure and any(files):
            raise ProgrammingError("certificates are for encryption, which insecure turns off")

    def __repr__(self) -> str:
        return "Protection(...)"

    @classmethod
    def of_query(cls, query: str) -> Self:
        """What the part of an address behind the question mark says.

        >>> Protection.of_query("insecure").insecure
        True
        """
        given: dict[str, str | bool] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name not in cls.__struct_fields__ or name == "secret":
                known = ", ".join(each for each in cls.__struct_fields__ if each != "secret")
                raise ProgrammingError(f"{name!r} is no option of a cluster's address; known are {known}")
            if name == "insecure":
                if value.lower() not in (*_YES, *_NO):
                    raise ProgrammingError(f"insecure={value} in a cluster's address: true or false")
                given[name] = value.lower() in _YES
            else:
                given[name] = value
        return cls(**given)  # type: ignore[arg-type]

    def or_else(self, other: "Protection") -> "Protection":
        """What this one doesn't say, the other one does."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(other, **said)

    def tls(self) -> TlsSettings | None:
        """The certificates that are given by files. OperationalError if they don't serve."""
        if self.certificate is None or self.key is None or self.authority is None:
            return None
        return TlsSettings.read(self.certificate, self.key, self.authority)

    def found(self, left: Credentials | None = None) -> Credentials:
        """The credentials, from whatever is said and, for what isn't, ``left`` or the environment.
        ProgrammingError if there is no secret among all that."""
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
    """What the engine needs of them."""
    return Security(credentials.secret.encode(), credentials.tls, credentials.insecure)
