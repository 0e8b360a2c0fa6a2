"""Arrow's compute kernels, as ``pyarrow.compute`` has them, without its price at import.

Importing ``pyarrow.compute`` makes a documented Python wrapper of each of some three hundred kernels, which
takes longer than importing Arrow itself. What small queries need (functions of the registry, options) is in
the extension module below it; anything else loads ``pyarrow.compute`` when it is first asked for. So the
whole house writes

    from sqlfront_values.arrow import kernels as pc

in place of ``import pyarrow.compute as pc``, and means the same; :func:`function` is a kernel that is looked
up when it is first called, for constants of modules. Mind that methods of Arrow's own objects
(``array.cast``, ``batch.filter``) load ``pyarrow.compute`` too.
"""

from functools import partial
from typing import Any


class Function:
    """A kernel by name; ``call`` is that of the registry's function with the options, found at the first
    use."""

    def __init__(self, name: str, options: str | None, arguments: dict[str, object]) -> None:
        self._name = name
        self._options = options
        self._arguments = arguments

    def __getattr__(self, attribute: str) -> Any:
        if attribute != "call":
            raise AttributeError(attribute)
        from pyarrow import _compute  # noqa: PLC0415 - a tenth of what `select 1` loads beside its two libraries

        self.call = _compute.get_function(self._name).call
        if self._options is not None:
            options = getattr(_compute, self._options)(**self._arguments)
            self.call = partial(self.call, options=options)
        return self.call


def function(name: str, options: str | None = None, **arguments: object) -> Function:
    """The kernel of that name, with options of the class of that name made of the arguments.

    >>> import pyarrow as pa
    >>> function("round", "RoundOptions", ndigits=1).call([pa.scalar(1.25)]).as_py()
    1.2
    """
    return Function(name, options, arguments)


def __getattr__(name: str) -> Any:
    """The kernel, options or error of that name; found once, then an attribute of this module."""
    from pyarrow import _compute  # noqa: PLC0415 - see Function

    try:
        value = getattr(_compute, name)
    except AttributeError:
        from pyarrow import compute  # noqa: PLC0415, TID251 - loaded when first needed

        value = getattr(compute, name)
    globals()[name] = value
    return value
