"""Arrow's compute kernels, as ``pyarrow.compute`` has them, without its price at import.

Importing ``pyarrow.compute`` makes a documented Python wrapper of each of some three hundred kernels, which
takes longer than importing Arrow itself. What small queries need (functions of the registry, options) is in
the extension module below it; anything else loads ``pyarrow.compute`` when it is first asked for. So the
whole house writes

    from sqlfront_engine import kernels as pc

in place of ``import pyarrow.compute as pc``, and means the same. Mind that methods of Arrow's own objects
(``array.cast``, ``batch.filter``) load ``pyarrow.compute`` too.
"""

from typing import Any

from pyarrow import _compute


def __getattr__(name: str) -> Any:
    """The kernel, options or error of that name; found once, then an attribute of this module."""
    try:
        value = getattr(_compute, name)
    except AttributeError:
        from pyarrow import compute  # noqa: PLC0415, TID251 - loaded when first needed

        value = getattr(compute, name)
    globals()[name] = value
    return value
