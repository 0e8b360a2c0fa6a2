"""The order of the entries of a map that Spark made of an immutable map of Scala's: of at most four keys the
order in which they came, of more keys that of a trie of their hashes."""

from collections.abc import Iterator, Sequence
from typing import Final

from sqlfront_values.partitioning.scalar_hash import key_hasher
from sqlfront_values.types import STRING

_FEW: Final = 4
_WORD: Final = 0xFFFFFFFF
#: The bits of a hash that choose a branch, and the bits of a hash.
_BRANCH_BITS: Final = 5
_HASH_BITS: Final = 32
_hash: Final = key_hasher([STRING])


def in_scalas_order(pairs: Sequence[tuple[str, object]]) -> list[tuple[str, object]]:
    """Return the entries of a map made of the pairs, of which the last of each key counts.

    >>> in_scalas_order([("b", 1), ("a", 2), ("b", 3)])
    [('b', 3), ('a', 2)]
    """
    entries = dict(pairs)
    if len(entries) <= _FEW:
        return list(entries.items())
    hashed = [(_mixed(_hash((key,))), key) for key in entries]
    return [(key, entries[key]) for key in _walk(hashed, 0)]


def _mixed(code: int) -> int:
    """Return a hash code after the mixing by ``scala.util.hashing``."""
    code = (code + ~(code << 9)) & _WORD
    code ^= code >> 14
    code = (code + (code << 4)) & _WORD
    return code ^ (code >> 10)


def _walk(keys: list[tuple[int, str]], shift: int) -> Iterator[str]:
    """Yield keys with their hashes in the order of the trie: a node's own keys come before those of its
    branches."""
    if shift >= _HASH_BITS:
        yield from (key for _, key in keys)
        return
    branches: dict[int, list[tuple[int, str]]] = {}
    for pair in keys:
        branches.setdefault(pair[0] >> shift & (1 << _BRANCH_BITS) - 1, []).append(pair)
    ordered = [branches[place] for place in sorted(branches)]
    yield from (branch[0][1] for branch in ordered if len(branch) == 1)
    for branch in ordered:
        if len(branch) > 1:
            yield from _walk(branch, shift + _BRANCH_BITS)
