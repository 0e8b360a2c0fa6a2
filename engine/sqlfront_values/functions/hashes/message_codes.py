"""hmac: codes that authenticate messages by a secret key."""

import hmac
from typing import Final

from sqlfront_values.errors import spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.types import BINARY, STRING

_ALGORITHMS: Final = {
    "SHA-224": "sha224",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
    "SHA-1": "sha1",
    "MD5": "md5",
}
#: The names are also known without their hyphen.
_BY_NAME: Final = _ALGORITHMS | {name.replace("-", ""): digest for name, digest in _ALGORITHMS.items()}
_LONGEST: Final = 64


def _hmac(key: bytes, message: bytes, algorithm: str = "SHA-256") -> bytes:
    digest = _BY_NAME.get(algorithm.upper())
    if digest is None:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.HMAC_ALGORITHM",
            "The value of parameter(s) `algorithm` in `hmac` is invalid: expects one of the algorithms "
            "'SHA-224',"
            f" 'SHA-256', 'SHA-384', 'SHA-512', 'SHA-1', 'MD5', but got '{algorithm}'.",
        )
    if not key:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.HMAC_CRYPTO_ERROR",
            "The value of parameter(s) `key` in `hmac` is invalid: detail message: Empty key",
        )
    return hmac.digest(key, message, digest)


register(
    ScalarFunction(
        "hmac",
        (BINARY, BINARY, STRING),
        BINARY,
        row_kernel(_hmac),
        optional=1,
        can_fail=True,
        growth=growth.at_most(_LONGEST),
        example=("hex(hmac('key', 'message', 'MD5'))", "'4E4748E62B463521F6775FBF921234B5'"),
    ),
)
