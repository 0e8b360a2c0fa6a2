"""The certificate authority of a cluster, made from the cluster's secret: it issues certificates for members
and clients, without any file.

The authority's key is derived from the secret. So only a process that knows the secret can make a trusted
certificate, and can recognise the cluster's certificates. The authority exists as long as the secret: a
cluster with a new secret for each start also has a new authority for each start. The derivation is slow on
purpose (scrypt, some 50 ms): anyone can see certificates, and might use them to guess at a weak secret.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sqlfront_cluster.network.tls.contexts import TlsSettings
from sqlfront_values.errors import OperationalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509 import oid
else:
    x509 = lazy_module("cryptography.x509")
    hashes = lazy_module("cryptography.hazmat.primitives.hashes")
    serialization = lazy_module("cryptography.hazmat.primitives.serialization")
    ec = lazy_module("cryptography.hazmat.primitives.asymmetric.ec")
    oid = lazy_module("cryptography.x509.oid")

#: The cost of scrypt: 16 MiB and some 50 ms.
_COST: Final = {"n": 2**14, "r": 8, "p": 1}
_SALT: Final = b"sqlfront: the authority of a cluster"
#: The order of the group P-256 (SEC 2, 2.4.2).
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
#: The tolerated difference of clocks, and the longest run of a member or client.
_SKEW: Final = timedelta(days=7)
_LIFE: Final = timedelta(days=3650)


def issue(secret: bytes) -> TlsSettings:
    """Return a new key, with a certificate for it that the authority of ``secret`` has signed. Each call
    makes another key; certificates of the same secret trust each other. Raises OperationalError if the
    package ``cryptography`` is not installed.
    """
    try:
        authority = _key_of(secret)
    except ImportError:
        raise OperationalError(
            "encrypted connections need certificates, which the package cryptography makes, and it is not"
            " installed: pip install 'sqlfront[cluster]', use certificates of your own (certificate, key,"
            " authority) or a credentials file that has some, or do without encryption (insecure)"
        ) from None
    key = ec.generate_private_key(ec.SECP256R1())
    return TlsSettings(
        certificate=_pem(_certificate(key.public_key(), authority, is_authority=False)),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode("ascii"),
        authority=_pem(_certificate(authority.public_key(), authority, is_authority=True)),
    )


@lru_cache(maxsize=4)
def _key_of(secret: bytes) -> "ec.EllipticCurvePrivateKey":
    """Return the authority's private key, derived from the secret. It is a number from 1 to the group's order
    - 1, computed from so long a hash that all numbers are practically equally likely. Raises ImportError
    without the package ``cryptography``."""
    derived = hashlib.scrypt(secret, salt=_SALT, dklen=48, **_COST)
    return ec.derive_private_key(int.from_bytes(derived, "big") % (_ORDER - 1) + 1, ec.SECP256R1())


def _certificate(
    holder: "ec.EllipticCurvePublicKey", authority: "ec.EllipticCurvePrivateKey", *, is_authority: bool
) -> "x509.Certificate":
    names = ("authority of a sqlfront cluster", "member of a sqlfront cluster")
    issuer, member = (x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, each)]) for each in names)
    now = datetime.now(UTC)
    usages = [oid.ExtendedKeyUsageOID.SERVER_AUTH, oid.ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        x509.CertificateBuilder()
        .subject_name(issuer if is_authority else member)
        .issuer_name(issuer)
        .public_key(holder)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), True)
        .add_extension(_key_usage(is_authority=is_authority), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(holder), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), False)
    )
    if not is_authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), False)
    return builder.sign(authority, hashes.SHA256())


def _key_usage(*, is_authority: bool) -> "x509.KeyUsage":
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: "x509.Certificate") -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")
