"""Places for files of any format: partition directories, globs, hidden names, compressions, empty folders."""

from __future__ import annotations

import bz2
import gzip
import random
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

#: Texts of partition directories: numbers, dates, times, escapes, what is nearly one of these.
_TEXTS: Final = (
    *("1", "2", "-7", "+1", "01", "1", "2147483648", "-9223372036854775809", "99999999999999999999", "1e3"),
    *(
        "1.5",
        "1.",
        ".5",
        "1e-2",
        "NaN",
        "Infinity",
        "1d",
        "0x1p3",
        " 1",
        "1_000",
        "12345678901234567890123456789",
    ),
    *(
        "2024-01-02",
        "2024-1-2",
        "2024-02-30",
        "2024-01-02 03%3A04%3A05",
        "2024-01-02 03%3A04%3A05.1",
        "2024-01",
    ),
    *(
        "2024-01-02 03%3A04%3A05.123456",
        "2024-01-02T03%3A04%3A05",
        "true",
        "false",
        "null",
        "a",
        "b c",
        "é",
        "x=y",
    ),
    *(
        "a%2Fb",
        "%41",
        "%zz",
        "a%",
        "__HIVE_DEFAULT_PARTITION__",
        "1",
        "2024-01-03",
        "1",
        "日本",
        "1L",
        "0",
        "-0",
    ),
)
_NAMES: Final = ("p", "p", "p", "q", "P", "p q", "p%20q", "a", "_x")
_HIDDEN: Final = ("_SUCCESS", ".a.crc", "_temporary/0/x", ".hidden/x", "_x", "a._COPYING_", "_metadata_x")
_TYPES: Final = (
    "INT",
    "STRING",
    "BIGINT",
    "DOUBLE",
    "DATE",
    "TIMESTAMP",
    "BOOLEAN",
    "DECIMAL(10,0)",
    "SMALLINT",
)

Named = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class Layout:
    """Files in their places, and what is read: see :class:`~tests.oracle.files.cases.FileCase`.

    ``columns``: of partition directories, as a declared schema may have them.
    """

    files: Named
    place: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()


def partitions(random: random.Random, contents: Sequence[bytes], ending: str) -> Layout:
    """Partition directories of one or two levels, some of which disagree."""
    columns = random.sample(_NAMES, random.choice((1, 1, 2)))
    few = random.sample(_TEXTS, random.choice((1, 2, 2, 3)))
    files = []
    for number, content in enumerate(contents):
        parts = [f"{name}={random.choice(few)}" for name in columns]
        if random.random() < 0.03:
            parts = random.choice(([], ["plain"], [*parts, "r=1"], parts[1:], ["p="], ["=1"]))
        files.append(("/".join((*parts, f"{number}{ending}")), content))
    place = random.choice(("", "", "", "", "*", files[0][0].rpartition("/")[0]))
    declared = tuple(f"`{name}` {random.choice(_TYPES)}" for name in columns if "%" not in name)
    return Layout(tuple(files), place, columns=declared if random.random() < 0.4 else ())


def globs(random: random.Random, contents: Sequence[bytes], ending: str) -> Layout:
    """Folders and files with odd names, chosen by globs."""
    folders = (
        "a1",
        "b1",
        "a2",
        "[c]",
        "d e",
        "{y}",
        "%20",
        "a,b",
        "ü",
        "a=1",
        "_u",
        ".h",
        "a+b",
        "$x",
        "a'b",
    )
    files = []
    for number, content in enumerate(contents):
        folder = random.choice(folders)
        files.append((f"{folder}/{random.choice(('x', 'y', 'z.1'))}{number}{ending}", content))
    first = files[0][0].split("/")
    place = random.choice(
        (
            *(
                "*",
                "*/*",
                "?1",
                "[ab]1",
                "[^a]*",
                "[!a]*",
                "{a1,b1}",
                "{a,b}{1,2}",
                "a*/x*",
                "*/x?*",
                "\\[c\\]",
            ),
            *(
                "a[1-2]",
                "nix*",
                "{a1/x0,b1/*}*",
                "[c]",
                "d?e",
                "*=1",
                "{a1",
                "[a",
                "a\\*",
                "*1/*",
                first[0],
                "**",
            ),
            *("./a1/../b1", "*/{x,y}[0-9]*", "\\{y\\}", "a+b", "$x", "*/*/"),
        )
    )
    return Layout(tuple(files), place)


def folders(random: random.Random, contents: Sequence[bytes], ending: str) -> Layout:
    """Hidden names, empty files and folders, folders below folders, and options that choose among them."""
    files = []
    for number, content in enumerate(contents):
        name = random.choice(
            (
                f"{number}{ending}",
                f"{number}{ending}",
                f"sub/{number}{ending}",
                f"sub/sub/{number}{ending}",
                *_HIDDEN,
            )
        )
        files.append((name, content))
    if random.random() < 0.5:
        files.append((random.choice(("empty/", f"0{ending}", f"z{ending}", "_empty/")), b""))
    options: dict[str, str] = {}
    if random.random() < 0.4:
        options["recursiveFileLookup"] = random.choice(("true", "TRUE", "false"))
    if random.random() < 0.3:
        options["pathGlobFilter"] = random.choice((f"*{ending}", "0*", "[1-9]*", "{0,1}*", "*", "nix"))
    if random.random() < 0.2:
        options[random.choice(("modifiedBefore", "modifiedAfter"))] = random.choice(
            ("2020-01-01T00:00:00", "2100-01-01", "2100-01-01 00:00:00", "nonsense")
        )
    if random.random() < 0.1:
        options[random.choice(("ignoreCorruptFiles", "ignoreMissingFiles"))] = "true"
    files = list(dict(files).items())
    return Layout(tuple(files), random.choice(("", "", "", "sub", files[0][0])), options)


def compressed(random: random.Random, contents: Sequence[bytes], ending: str) -> Layout:
    """Files of text that are compressed, or only named so."""
    files = []
    for number, content in enumerate(contents):
        name, pack = random.choice(_CODECS)
        files.append((f"{number}{ending}{name}", pack(content)))
    return Layout(tuple(files), random.choice(("", files[0][0])))


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _blocks(codec: str, content: bytes) -> bytes:
    """As Hadoop's block compressors write: lengths before each block and before each of its parts."""
    packed = pa.Codec(codec).compress(content, asbytes=True)
    return struct.pack(">II", len(content), len(packed)) + packed


_CODECS: Final[tuple[tuple[str, Callable[[bytes], bytes]], ...]] = (
    (".gz", _gzip),
    (".gz", lambda content: _gzip(content[:5]) + _gzip(content[5:])),
    (".gz", lambda content: _gzip(content)[:-9]),
    (".gz", lambda content: content),
    (".bz2", bz2.compress),
    (".bz2", lambda content: bz2.compress(content[:5]) + bz2.compress(content[5:])),
    (".deflate", zlib.compress),
    (".snappy", lambda content: _blocks("snappy", content)),
    (".lz4", lambda content: _blocks("lz4_raw", content)),
    (".zst", lambda content: pa.Codec("zstd").compress(content, asbytes=True)),
    (".GZ", _gzip),
    (".gzip", lambda content: content),
    ("", lambda content: content),
)
