"""Functions of doubles with the results of Java's StrictMath, bit by bit.

The results of C libraries differ from machine to machine: ``cbrt(27)`` may be 3.0000000000000004. Each
function of this package does the operations of ``java.lang.FdLibm`` (OpenJDK), a port of Sun's fdlibm 5.3, in
the same order, over numpy arrays; all branches are computed, and ``numpy.where`` chooses one. A branch of
fdlibm is left out if another branch gives the same result (for tiny arguments, say). numpy does only the
operations that IEEE 754 defines exactly: sums, products, quotients, square roots. The caller switches numpy's
floating-point warnings off.

Reading order: ``words`` (the bits of a double), ``exponentials``, ``logarithms``, ``hyperbolics``, ``arcs``,
``powers``.
"""
