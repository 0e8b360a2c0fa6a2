"""Functions of numbers: arithmetic, decimals, rounding, real functions, bits, random numbers.

``decimal_rules`` has the result types of decimal arithmetic, ``decimals`` computes the values; ``fdlibm`` has
Java's real functions bit by bit.
"""
