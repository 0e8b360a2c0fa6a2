"""The random numbers of ``java.util.Random``."""

from typing import Final

import msgspec

_MULTIPLIER: Final = 0x5DEECE66D
_MASK: Final = (1 << 48) - 1


class JavaRandom(msgspec.Struct):
    """A generator of Java's random numbers. ``state``: the 48 bits that decide all further numbers."""

    state: int

    @classmethod
    def of_seed(cls, seed: int) -> "JavaRandom":
        """Make the generator of a seed.

        >>> random = JavaRandom.of_seed(42)
        >>> [random.next_int(10) for _ in range(5)]
        [0, 3, 8, 4, 0]
        """
        return cls((seed ^ _MULTIPLIER) & _MASK)

    def bits(self, count: int) -> int:
        """Return the next number of ``count`` bits, 32 at most."""
        self.state = (self.state * _MULTIPLIER + 11) & _MASK
        return self.state >> 48 - count

    def next_int(self, bound: int) -> int:
        """Return the next whole number of at least 0 and less than ``bound``."""
        if bound & -bound == bound:
            return bound * self.bits(31) >> 31
        while True:
            drawn = self.bits(31)
            value = drawn % bound
            if drawn - value + bound - 1 < 1 << 31:
                return value

    def next_double(self) -> float:
        """Return the next double of at least 0 and less than 1."""
        return ((self.bits(26) << 27) + self.bits(27)) * 2.0**-53
