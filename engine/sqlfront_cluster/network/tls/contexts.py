"""TLS between members: certificates as texts, and TLS contexts made from them.

Both members of a connection show a certificate, and both require that their trusted authority has signed the
other's. Host names are not checked: the handshake proves the other member's identity, and its proofs include
the hashes of both certificates. So a certificate of the same authority, or even the authority's own key,
doesn't help an attacker who doesn't know the cluster's secret.
"""

import hashlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn, Self

import msgspec

from sqlfront_values.errors import OperationalError

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A member's certificates as PEM texts: its ``certificate`` (followed by any intermediate certificates),
    the unencrypted private ``key`` of the certificate, and the certificates of the ``authority`` that signs
    for all of the cluster.

    A member uses its certificate both as a server and as a client: if the certificate limits its uses, it has
    to name both (``serverAuth`` and ``clientAuth``).
    """

    certificate: str
    key: str
    authority: str

    def __repr__(self) -> str:
        return "TlsSettings(...)"

    @classmethod
    def read(cls, certificate: str | Path, key: str | Path, authority: str | Path) -> Self:
        """Read the settings from three PEM files. Raises OperationalError for unreadable files and unusable
        contents."""
        texts = []
        for path in (certificate, key, authority):
            try:
                texts.append(Path(path).read_text("ascii"))
            except (OSError, ValueError) as error:
                raise OperationalError(f"the TLS file {path} can't be read: {error}") from error
        made = cls(certificate=texts[0], key=texts[1], authority=texts[2])
        try:
            made.context(server_side=False)
        except OperationalError as error:
            raise OperationalError(f"{error.message} (files {certificate}, {key}, {authority})") from error
        return made

    def context(self, *, server_side: bool) -> ssl.SSLContext:
        """Make the TLS context for connections that this member accepts (``server_side``) or makes. Raises
        OperationalError if the texts are unusable."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        if server_side:
            context.num_tickets = 0  # sessions are never resumed
        try:
            with _as_file(self.certificate) as certificate, _as_file(self.key) as key:
                context.load_cert_chain(certificate, key, _no_password)
            context.load_verify_locations(cadata=self.authority)
        except (OSError, ValueError) as error:  # SSLError is an OSError
            raise OperationalError(
                f"certificate, key and authority can't be used for TLS: {error}"
            ) from error
        return context

    def certificate_hash(self) -> bytes:
        """Return the SHA-256 hash of this member's certificate, which equals the result of
        :func:`certificate_hash` at the peer."""
        begin = self.certificate.index(_BEGIN)
        end = self.certificate.index(_END, begin) + len(_END)
        return certificate_hash(ssl.PEM_cert_to_DER_cert(self.certificate[begin:end]))


def certificate_hash(encoded: bytes) -> bytes:
    """Return the SHA-256 hash of ``encoded``, a certificate in DER."""
    return hashlib.sha256(encoded).digest()


#: OpenSSL's reasons for received data that is no TLS.
_NO_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "BAD_RECORD_TYPE", "UNEXPECTED_MESSAGE", "RECORD_LAYER_FAILURE"}
)
#: OpenSSL's reasons for a refusal of this side's certificate by the other side.
_DISTRUSTED: Final = frozenset(
    {
        "TLSV1_ALERT_UNKNOWN_CA",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "TLSV1_ALERT_DECRYPT_ERROR",
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    }
)
#: OpenSSL's codes for a certificate that is not yet valid, has expired, or doesn't serve for TLS's sides.
_OF_NO_USE_NOW: Final = frozenset({9, 10, 26})
_DIFFERENT: Final = "the two have different secrets, or certificates of different authorities"


def failure_of(error: ssl.SSLError) -> str:
    """Return the reason of a failure of TLS with a peer, in words for the log and for error messages."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = "" if error.verify_code in _OF_NO_USE_NOW else f": {_DIFFERENT}"
        return f"this side does not trust the certificate of the other side ({error.verify_message}){why}"
    if error.reason == "SSLV3_ALERT_CERTIFICATE_EXPIRED":
        return "this side's certificate, or one on the way to its authority, has expired"
    if error.reason in _DISTRUSTED:
        return f"the other side doesn't trust this side's certificate: {_DIFFERENT}"
    if speaks_no_tls(error):
        return "the other side speaks no TLS: one of the two sides is insecure, and the other isn't"
    return f"TLS failed: {error.reason or error}"


def speaks_no_tls(error: ssl.SSLError) -> bool:
    """Return whether the error means that the peer has sent something else than TLS."""
    return error.reason in _NO_TLS


def _no_password() -> NoReturn:
    """Raise OperationalError. OpenSSL calls this function for the password of an encrypted key; without this
    function, OpenSSL would ask for the password on the terminal."""
    raise OperationalError("the key of the TLS certificate is encrypted; give one without a password")


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Return a context manager whose value is the path of a file with ``text``, since the ssl module reads
    files. The file is in memory if the system allows; at the end of the block it is gone."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("sqlfront-tls")
        try:
            with os.fdopen(descriptor, "w", closefd=False) as file:
                file.write(text)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile("w", prefix="sqlfront-tls-") as file:  # for this user alone
            file.write(text)
            file.flush()
            yield file.name
