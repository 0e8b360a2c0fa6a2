"""Random calls of functions over hostile values, one generator per function; the same calls for the same
seed.

A draw is a SELECT over constants and one over a column of a few rows, so that both ways of evaluation are
asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Draw = Callable[[random.Random], str]

_DIGESTS = ("MD5", "sha-1", "SHA-512", "sha384")
_TEXTS = (
    "",
    " ",
    "0",
    "-1",
    "+12",
    "1,234",
    "12.5",
    "<7>",
    "$3.5",
    "-$4",
    "5-",
    "1 2",
    "1,2,3",
    ".5",
    "x",
    "٣",
    "12a",
)


def _layout(source: random.Random) -> str:
    """A layout of numbers, now and then a broken one."""
    groups = ["".join(source.choices("09", k=source.randint(1, 3))) for _ in range(source.randint(1, 3))]
    whole = source.choice((",", "G", "")).join(groups)
    fraction = source.choice(("", "", ".9", "D00", ".990"))
    before = source.choice(("", "", "S", "MI", "$", "S$"))
    after = source.choice(("", "", "S", "MI", "PR", "$"))
    text = f"{before}{whole}{fraction}{after}"
    return "".join(source.sample(text, len(text))) if source.random() < 0.1 else text


def _number(source: random.Random) -> str:
    digits = str(source.randint(0, 10 ** source.randint(0, 9)))
    place = source.randint(0, len(digits))
    return f"{source.choice(('', '-'))}{digits[:place] or '0'}.{digits[place:] or '0'}BD"


def _text(source: random.Random) -> str:
    if source.random() < 0.4:
        return source.choice(_TEXTS)
    sign, end = source.choice((("", ""), ("-", ""), ("+", ""), ("", "-"), ("<", ">"), ("$", ""), ("-$", "")))
    whole = source.choice((str, lambda number: f"{number:,}"))(source.randint(0, 10 ** source.randint(0, 7)))
    return f"{sign}{whole}{source.choice(('', '', '.5', '.05', '.'))}{end}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _bytes(source: random.Random) -> str:
    kinds = (
        "80",
        "61",
        "C3A9",
        "E282AC",
        "F09F9880",
        "EDA080",
        "C080",
        "F4908080",
        "E282",
        "F09F98",
        "FF",
        "00",
    )
    return f"X'{''.join(source.choices(kinds, k=source.randint(0, 4)))}'"


def _long(source: random.Random) -> str:
    edge = source.choice((0, 1, 32767, 32768, 32769, 65536, 2**31, 2**63 - 2, source.randint(0, 10**6)))
    return f"{source.choice(('', '-'))}{edge}L"


def _vector(source: random.Random, size: int) -> str:
    values = (0, -0.0, 1, -2.5, 0.1, 1e30, -1e-30, 3.4e38)
    items = [
        "CAST(NULL AS FLOAT)"
        if source.random() < 0.03
        else f"{source.choice((*values, source.uniform(-9, 9)))!r}F"
        for _ in range(size)
    ]
    return f"CAST(array({', '.join(items)}) AS array<float>)"


def _vectors(name: str) -> Draw:
    def draw(source: random.Random) -> str:
        size = source.choice((0, 1, 2, 7, 8, 9, 17))
        other = size + (source.random() < 0.05)
        return f"{name}({_vector(source, size)}, {_vector(source, other)})"

    return draw


def _normed(name: str) -> Draw:
    degrees = ("", ", 1F", ", 2F", ", float('inf')", ", CAST(NULL AS FLOAT)")
    return lambda source: (
        f"{name}({_vector(source, source.choice((0, 1, 3, 8, 19)))}{source.choice(degrees)})"
    )


def _moment(source: random.Random) -> str:
    day = f"{source.randint(1890, 2100)}-{source.randint(1, 12):02}-{source.randint(1, 28):02}"
    clock = f"{source.randint(0, 23):02}:{source.randint(0, 59):02}:{source.randint(0, 59):02}"
    return f"'{day} {clock}.{source.randint(0, 999999):06}'"


def _bucket(source: random.Random) -> str:
    widths = (
        f"INTERVAL '{source.randint(1, 90)}' MINUTE",
        f"INTERVAL '{source.randint(1, 50)}' HOUR",
        f"INTERVAL '{source.randint(1, 40)}' DAY",
        f"INTERVAL '{source.randint(1, 30)}' MONTH",
        f"INTERVAL '{source.randint(0, 3)} {source.randint(0, 23)}:17:03.5' DAY TO SECOND",
    )
    kind = source.choice(("TIMESTAMP", "TIMESTAMP_NTZ"))
    origin = source.choice(("", f", {kind}{_moment(source)}"))
    return f"time_bucket({source.choice(widths)}, {kind}{_moment(source)}{origin})"


def _calendar(source: random.Random) -> str:
    parts = [str(source.choice((0, 1, -1, 13, -400, 100000, source.randint(-50, 50)))) for _ in range(6)]
    parts = [*parts, f"{source.randint(-9999, 9999)}.{source.randint(0, 999999):06}"][: source.randint(0, 7)]
    maker = f"{source.choice(('', 'try_'))}make_interval({', '.join(parts)})"
    kind = source.choice(("TIMESTAMP", "TIMESTAMP_NTZ"))
    moment = f"DATE'2024-02-{source.randint(1, 29)}'" if len(parts) < 5 else f"{kind}{_moment(source)}"
    return source.choice((f"CAST({maker} AS STRING)", f"{moment} + {maker}", f"{moment} - {maker}"))


def _instr(source: random.Random) -> str:
    text, part = "".join(source.choices("ab", k=source.randint(0, 9))), source.choice(("a", "ab", "aa", ""))
    return f"instr('{text}', '{part}', {source.randint(-9, 9)}, {source.randint(0, 3)})"


def _aes(source: random.Random) -> str:
    key = source.choice(
        ("0123456789abcdef", "0123456789abcdef01234567", "0123456789abcdef0123456789abcdef", "short")
    )
    mode = source.choice(("ECB", "CBC", "GCM", "gcm", "CTR"))
    padding = source.choice(("PKCS", "NONE", "DEFAULT", "DEFAULT"))
    vector = f"unhex('{'00' * source.choice((0, 12, 12, 16, 16))}')"
    more = source.choice(("", f", {vector}", f", {vector}", f", {vector}, 'aad'"))
    sealed = f"aes_encrypt({_quoted('x' * source.randint(0, 40))}, '{key}', '{mode}', '{padding}'{more})"
    if more.count(",") == 1 and "unhex('')" not in more and source.random() < 0.5:
        return f"hex({sealed})"
    return f"aes_decrypt({sealed}, '{key}', '{mode}', '{padding}')"


#: The generators by function.
DRAWS: dict[str, Draw] = {
    "to_number": lambda source: f"to_number({_quoted(_text(source))}, '{_layout(source)}')",
    "try_to_number": lambda source: f"try_to_number({_quoted(_text(source))}, '{_layout(source)}')",
    "to_char": lambda source: f"to_char({_number(source)}, '{_layout(source)}')",
    "is_valid_utf8": lambda source: f"is_valid_utf8({_bytes(source)})",
    "make_valid_utf8": lambda source: f"hex(make_valid_utf8({_bytes(source)}))",
    "try_validate_utf8": lambda source: f"hex(try_validate_utf8({_bytes(source)}))",
    "to_base32": lambda source: f"to_base32({_bytes(source)})",
    "from_base32": lambda source: (
        f"from_base32({_quoted(''.join(source.choices('ABMZXW267abz=018 !', k=source.randint(0, 20))))})"
    ),
    "hmac": lambda source: f"hex(hmac({_bytes(source)}, {_bytes(source)}, '{source.choice(_DIGESTS)}'))",
    "bitmap_bit_position": lambda source: f"bitmap_bit_position({_long(source)})",
    "bitmap_bucket_number": lambda source: f"bitmap_bucket_number({_long(source)})",
    "bitmap_count": lambda source: f"bitmap_count({_bytes(source)})",
    "vector_inner_product": _vectors("vector_inner_product"),
    "vector_l2_distance": _vectors("vector_l2_distance"),
    "vector_cosine_similarity": _vectors("vector_cosine_similarity"),
    "vector_norm": _normed("vector_norm"),
    "vector_normalize": _normed("vector_normalize"),
    "time_bucket": _bucket,
    "aes": _aes,
    "make_interval": _calendar,
    "instr": _instr,
    "rand": lambda source: f"rand({source.randint(-(2**31), 2**31)})",
    "randn": lambda source: f"randn({source.randint(-(2**31), 2**31)})",
    "randstr": lambda source: f"randstr({source.randint(0, 80)}, {source.randint(-(2**31), 2**31)})",
    "uniform": lambda source: (
        f"uniform({source.randint(-9, 9)}, {source.randint(10, 99)}.5D, {source.randint(0, 99)})"
    ),
    "shuffle": lambda source: (
        f"shuffle(array({', '.join(map(str, range(source.randint(1, 40))))}), {source.randint(-99, 99)})"
    ),
}


def draws(seed: str, count: int) -> Iterator[tuple[str, str]]:
    """``count`` statements per function, each with the function's name."""
    for name, draw in DRAWS.items():
        source = random.Random(f"{seed} {name}")
        for _ in range(count):
            call = draw(source)
            rows = "" if source.random() < 0.5 else f" FROM range(0, {source.randint(1, 200)}, 1, 1)"
            yield name, f"SELECT {call} AS x{rows}"
