"""aes_encrypt, aes_decrypt and try_aes_decrypt, by the library cryptography (the extra ``cluster``)."""

import secrets
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront_values.errors import DatabaseError, Error, NotSupportedError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.types import BINARY, STRING

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives import ciphers
    from cryptography.hazmat.primitives.ciphers import aead, algorithms, modes
else:
    exceptions = lazy_module("cryptography.exceptions")
    ciphers = lazy_module("cryptography.hazmat.primitives.ciphers")
    aead = lazy_module("cryptography.hazmat.primitives.ciphers.aead")
    algorithms = lazy_module("cryptography.hazmat.primitives.ciphers.algorithms")
    modes = lazy_module("cryptography.hazmat.primitives.ciphers.modes")

_BLOCK: Final = 16
_KEYS: Final = (16, 24, 32)
#: Bytes by which GCM's result is longer than the text.
_TAG: Final = 16
#: Bytes that encryption adds at most: a vector, a block of padding or a tag.
_MOST_ADDED: Final = 48


class _Mode(msgspec.Struct, frozen=True):
    """A mode of AES: its name, the padding that it takes beside DEFAULT, and the bytes of its initialization
    vector (0 = it has none)."""

    name: str
    padding: str
    vector: int


_MODES: Final = {
    mode.name: mode for mode in (_Mode("ECB", "PKCS", 0), _Mode("CBC", "PKCS", 16), _Mode("GCM", "NONE", 12))
}


def _mode(name: str, padding: str) -> _Mode:
    mode = _MODES.get(name.upper())
    if mode is None or padding.upper() not in (mode.padding, "DEFAULT"):
        raise spark_error(
            "UNSUPPORTED_FEATURE.AES_MODE",
            f"The feature is not supported: AES-{name} with the padding {padding} by the"
            " `aes_encrypt`/`aes_decrypt` function.",
        )
    return mode


def _crypto_error(detail: str) -> DatabaseError:
    return spark_error(
        "INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR",
        "The value of parameter(s) `expr`, `key` in `aes_encrypt`/`aes_decrypt` is invalid: detail message:"
        f" {detail}",
    )


def _check_key(key: bytes) -> None:
    if len(key) not in _KEYS:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.AES_KEY_LENGTH",
            "The value of parameter(s) `key` in `aes_encrypt`/`aes_decrypt` is invalid: expects a binary "
            "value"
            f" with 16, 24 or 32 bytes, but got {len(key)} bytes.",
        )


def _check_additions(mode: _Mode, function: str, vector: bytes, data: bytes) -> None:
    """Raise Spark's error for a vector or authenticated data that the mode doesn't take."""
    if vector and not mode.vector:
        raise spark_error(
            "UNSUPPORTED_FEATURE.AES_MODE_IV",
            f"The feature is not supported: `{function}` with AES-{mode.name} does not support initialization"
            " vectors (IVs).",
        )
    if vector and len(vector) != mode.vector:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.AES_IV_LENGTH",
            "The value of parameter(s) `iv` in `aes_encrypt`/`aes_decrypt` is invalid: supports 16-byte CBC "
            "IVs and"
            f" 12-byte GCM IVs, but got {len(vector)} bytes for {mode.name}.",
        )
    if data and mode.name != "GCM":
        raise spark_error(
            "UNSUPPORTED_FEATURE.AES_MODE_AAD",
            f"The feature is not supported: `{function}` with AES-{mode.name} does not support additional"
            " authenticate data (AAD).",
        )


def _require_library() -> None:
    if find_spec("cryptography") is None:
        raise NotSupportedError("AES needs the library cryptography: pip install 'sqlfront[cluster]'")


def _cipher(mode: _Mode, key: bytes, vector: bytes) -> "ciphers.Cipher[modes.CBC | modes.ECB]":
    """Return the cipher of ECB, or of CBC."""
    return ciphers.Cipher(algorithms.AES(key), modes.CBC(vector) if mode.vector else modes.ECB())


def _encrypt(
    text: bytes,
    key: bytes,
    mode: str = "GCM",
    padding: str = "DEFAULT",
    vector: bytes = b"",
    data: bytes = b"",
) -> bytes:
    """Encrypt the text. The result begins with the initialization vector, a random one if ``vector`` is
    empty; ``data`` is authenticated with the text."""
    _require_library()
    _check_key(key)
    chosen = _mode(mode, padding)
    _check_additions(chosen, "aes_encrypt", vector, data)
    vector = vector or secrets.token_bytes(chosen.vector)
    if chosen.name == "GCM":
        return vector + aead.AESGCM(key).encrypt(vector, text, data)
    missing = _BLOCK - len(text) % _BLOCK
    encryptor = _cipher(chosen, key, vector).encryptor()
    return vector + encryptor.update(text + bytes([missing]) * missing) + encryptor.finalize()


def _decrypt(
    text: bytes, key: bytes, mode: str = "GCM", padding: str = "DEFAULT", data: bytes = b""
) -> bytes:
    """Decrypt a result of :func:`_encrypt`."""
    _require_library()
    _check_key(key)
    chosen = _mode(mode, padding)
    _check_additions(chosen, "aes_decrypt", b"", data)
    vector, text = text[: chosen.vector], text[chosen.vector :]
    if chosen.name == "GCM":
        return _gcm_decrypted(key, vector, text, data)
    if len(vector) < chosen.vector:
        raise _crypto_error("IV buffer too short for given offset/length combination")
    if len(text) % _BLOCK:
        raise _crypto_error("Input length must be multiple of 16 when decrypting with padded cipher")
    decryptor = _cipher(chosen, key, vector).decryptor()
    return _without_padding(decryptor.update(text) + decryptor.finalize())


def _without_padding(padded: bytes) -> bytes:
    if not padded:
        return padded
    count = padded[-1]
    if not 0 < count <= _BLOCK or padded[-count:] != bytes([count]) * count:
        raise _crypto_error(
            "Given final block not properly padded. Such issues can arise if a bad key is used during "
            "decryption."
        )
    return padded[:-count]


def _gcm_decrypted(key: bytes, vector: bytes, text: bytes, data: bytes) -> bytes:
    if len(text) < _TAG:
        raise _crypto_error(
            "Invalid buffer arguments" if len(vector) < _MODES["GCM"].vector else "Input data too short"
        )
    try:
        return aead.AESGCM(key).decrypt(vector, text, data)
    except exceptions.InvalidTag:
        raise _crypto_error("Tag mismatch!") from None


def _or_null(function: Callable[..., bytes]) -> Callable[..., bytes | None]:
    """Return the ``try_`` form of a function: null where it raises one of Spark's errors."""

    def attempt(*arguments: object) -> bytes | None:
        try:
            return function(*arguments)
        except Error as error:
            if error.condition is None:
                raise
            return None

    return attempt


_KEY: Final = "'1234567890abcdef'"
_READ: Final = f"aes_decrypt(aes_encrypt('Spark', {_KEY}), {_KEY})"

register(
    ScalarFunction(
        "aes_encrypt",
        (BINARY, BINARY, STRING, STRING, BINARY, BINARY),
        BINARY,
        row_kernel(_encrypt),
        optional=4,
        can_fail=True,
        growth=lambda arguments, rows: growth.of_arguments(arguments, rows) + _MOST_ADDED * rows,
        example=(f"base64(aes_encrypt('Spark SQL', {_KEY}, 'ECB', 'PKCS'))", "'3lmwu+Mw0H3fi5NDvcu9lg=='"),
    ),
    *(
        ScalarFunction(
            f"{prefix}aes_decrypt",
            (BINARY, BINARY, STRING, STRING, BINARY),
            BINARY,
            row_kernel(_or_null(_decrypt) if prefix else _decrypt),
            optional=3,
            can_fail=True,
            example=(f"{prefix}{_READ}", "b'Spark'"),
        )
        for prefix in ("", "try_")
    ),
)
