"""Characters, bytes and their codes: ascii, chr, base64, encode, decode, and digests of bytes."""

import base64
import hashlib
import re
import zlib
from typing import Final

from sqlfront_values.errors import DatabaseError, DataError, ProgrammingError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.types import BIGINT, BINARY, INT, STRING

# ---- characters


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


def _chr(code: int) -> str:
    """Return the character whose code is the lowest byte of ``code``; an empty text for a negative code."""
    return "" if code < 0 else chr(code & 0xFF)


# ---- base 64

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#: Characters of a line of base64, as in MIME (RFC 2045).
_LINE: Final = 76


def encode_base64(data: bytes) -> str:
    """Return the bytes in MIME's base 64: lines of 76 characters, separated by CR LF."""
    text = base64.b64encode(data).decode()
    return "\r\n".join(text[place : place + _LINE] for place in range(0, len(text), _LINE))


def decode_base64(text: str) -> bytes:
    """Decode MIME's base 64 as ``java.util.Base64`` does: characters outside of the alphabet are skipped,
    padding may be missing. Raises DataError if bits are missing or characters follow the padding.

    >>> decode_base64("YW Jj"), decode_base64("YQ")
    (b'abc', b'a')
    """
    kept = bytes(byte for byte in text.encode() if byte in _ALPHABET or byte == 0x3D)
    digits, _, padding = kept.partition(b"=")
    if padding.strip(b"=") or (padding and len(digits) % 4 == 3):
        raise DataError(f"Input byte array has incorrect ending byte at {len(digits) + 1}")
    if len(digits) % 4 == 1 or (kept.endswith(b"=") and len(kept) % 4):
        raise DataError("Last unit does not have enough valid bits")
    return base64.b64decode(digits + b"=" * (-len(digits) % 4))


# ---- charsets

#: From Spark's charsets to Python's codecs. Java writes UTF-16 and UTF-32 big-endian, UTF-16 with a mark.
_CODECS: Final = {
    "ISO-8859-1": "latin-1",
    "US-ASCII": "ascii",
    "UTF-8": "utf-8",
    "UTF-16": "utf-16",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-32": "utf-32",
}
_BIG_ENDIAN_MARK: Final = b"\xfe\xff"


def _codec(function: str, charset: str) -> str:
    codec = _CODECS.get(charset.upper())
    if codec is None:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.CHARSET",
            f"The value of parameter(s) `charset` in `{function}` is invalid: expects one of the iso-8859-1,"
            f" us-ascii, utf-16, utf-16be, utf-16le, utf-32, utf-8, but got {charset}.",
        )
    return codec


def _malformed(function: str, charset: str) -> DatabaseError:
    return spark_error(
        "MALFORMED_CHARACTER_CODING", f"Invalid value found when performing `{function}` with {charset}"
    )


def _encode(text: str, charset: str) -> bytes:
    codec = _codec("encode", charset)
    if codec == "utf-16":
        return _BIG_ENDIAN_MARK + text.encode("utf-16-be") if text else b""
    if codec == "utf-32":
        return text.encode("utf-32-be")
    try:
        return text.encode(codec)
    except UnicodeEncodeError:
        raise _malformed("encode", charset) from None


def _decode(data: bytes, charset: str) -> str:
    codec = _codec("decode", charset)
    if codec in ("utf-16", "utf-32"):
        little = data.startswith(b"\xff\xfe")
        big = data.startswith((b"\xfe\xff", b"\x00\x00\xfe\xff"))
        codec = codec if little or big else f"{codec}-be"
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        raise _malformed("decode", charset) from None


# ---- texts as bytes in a notation


def _conversion_failed(text: str, notation: str) -> DatabaseError:
    return spark_error(
        "CONVERSION_INVALID_INPUT",
        f"The value '{text}' ('{notation.upper()}') cannot be converted to \"BINARY\" because it is"
        " malformed. Correct the value as per the syntax, or change its format. Use `try_to_binary` to"
        " tolerate malformed input and return NULL instead.",
    )


_HEX: Final = re.compile(r"[0-9a-fA-F]*")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*")


def _to_binary(text: str, notation: str = "hex") -> bytes:
    match notation.lower():
        case "utf-8" | "utf8":
            return text.encode()
        case "hex":
            if not _HEX.fullmatch(text):
                raise _conversion_failed(text, notation)
            return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")
        case "base64":
            try:
                if _BASE64.fullmatch(text):
                    return decode_base64(text)
            except DataError:
                pass
            raise _conversion_failed(text, notation)
        case _:
            raise spark_error(
                "DATATYPE_MISMATCH.INVALID_ARG_VALUE",
                "The fmt value must to be a case-insensitive \"STRING\" literal of 'hex', 'utf-8', 'utf8', or"
                f" 'base64', but got '{notation}'.",
            )


def _try_to_binary(text: str, notation: str = "hex") -> bytes | None:
    try:
        return _to_binary(text, notation)
    except (DataError, ProgrammingError):
        return None


# ---- digests


#: Characters of SHA-512 in hex, the longest digest.
_LONGEST_DIGEST: Final = 128
_SHA2: Final = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _sha2(data: bytes, bits: int) -> str | None:
    """Return the SHA-2 digest of ``data`` in hexadecimal; ``bits`` is 224, 256, 384 or 512, or 0 for 256.
    Return None for any other number of bits."""
    algorithm = _SHA2.get(bits)
    return None if algorithm is None else hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


register(
    ScalarFunction("ascii", (STRING,), INT, row_kernel(_ascii), example=("ascii('Spark')", "83")),
    *(
        ScalarFunction(
            name,
            (BIGINT,),
            STRING,
            row_kernel(_chr),
            growth=growth.at_most(4),
            example=(f"{name}(65)", "'A'"),
        )
        for name in ("chr", "char")
    ),
    ScalarFunction(
        "base64",
        (BINARY,),
        STRING,
        row_kernel(encode_base64),
        growth=growth.times(2),
        example=("base64('abc')", "'YWJj'"),
    ),
    ScalarFunction(
        "unbase64",
        (STRING,),
        BINARY,
        row_kernel(decode_base64),
        can_fail=True,
        example=("unbase64('YWJj')", "b'abc'"),
    ),
    ScalarFunction(
        "encode",
        (STRING, STRING),
        BINARY,
        row_kernel(_encode),
        growth=growth.times(4),
        can_fail=True,
        example=("encode('abc', 'utf-8')", "b'abc'"),
    ),
    ScalarFunction(
        "decode",
        (BINARY, STRING),
        STRING,
        row_kernel(_decode),
        growth=growth.times(2),
        can_fail=True,
        example=("decode(X'616263', 'utf-8')", "'abc'"),
    ),
    ScalarFunction(
        "to_binary",
        (STRING, STRING),
        BINARY,
        row_kernel(_to_binary),
        optional=1,
        constants=(1,),
        can_fail=True,
        example=("to_binary('abc', 'utf-8')", "b'abc'"),
    ),
    ScalarFunction(
        "try_to_binary",
        (STRING, STRING),
        BINARY,
        row_kernel(_try_to_binary),
        optional=1,
        constants=(1,),
        example=("try_to_binary('x', 'hex')", "None"),
    ),
    ScalarFunction(
        "md5",
        (BINARY,),
        STRING,
        row_kernel(_md5),
        growth=growth.at_most(_LONGEST_DIGEST),
        example=("md5('Spark')", "'8cde774d6f7333752ed72cacddb05126'"),
    ),
    *(
        ScalarFunction(
            name,
            (BINARY,),
            STRING,
            row_kernel(_sha1),
            growth=growth.at_most(_LONGEST_DIGEST),
            example=(f"{name}('Spark')", "'85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c'"),
        )
        for name in ("sha", "sha1")
    ),
    ScalarFunction(
        "sha2",
        (BINARY, INT),
        STRING,
        row_kernel(_sha2),
        growth=growth.at_most(_LONGEST_DIGEST),
        example=("sha2('Spark', 224)", "'dbeab94971678d36af2195851c0f7485775a2a7c60073d62fc04549c'"),
    ),
    ScalarFunction(
        "crc32", (BINARY,), BIGINT, row_kernel(zlib.crc32), example=("crc32('Spark')", "1557323817")
    ),
)
