"""Functions of doubles, bit by bit as Java's StrictMath gives them.

The results of C libraries differ from machine to machine: ``cbrt(27)`` may be 3.0000000000000004. Each
function here does the operations of ``java.lang.FdLibm`` (OpenJDK), a port of Sun's fdlibm 5.3, in the same
order, over numpy arrays; all branches are computed, and ``numpy.where`` takes one. A branch of fdlibm whose
result another branch gives too (for tiny arguments, say) is left out. Only what IEEE 754 fixes comes from
numpy: sums, products, quotients, square roots. The caller switches numpy's floating-point warnings off.

Reading order: ``words`` (the bits of a double), ``exponentials``, ``logarithms``, ``hyperbolics``, ``arcs``,
``powers``.
"""
