"""Arrow's compute kernels, as in ``pyarrow.compute``, without the cost of that import.

Importing ``pyarrow.compute`` makes a documented Python wrapper of each of some three hundred kernels, which
takes longer than importing Arrow itself. Small queries need only functions of the registry and options, which
are in the extension module below; any other name loads ``pyarrow.compute`` at its first access. So the whole
code base writes

    from sqlfront_values.arrow import kernels as pc

in place of ``import pyarrow.compute as pc``, with the same meaning. :func:`function` returns a kernel that is
looked up at its first call, for constants of modules. Mind that methods of Arrow's own objects
(``array.cast``, ``batch.filter``) load ``pyarrow.compute`` too.
"""

from functools import partial
from typing import Any


class Function:
    """A kernel of Arrow that is looked up by its name at the first use. ``call`` calls the kernel: it takes
    the list of the kernel's arguments, and adds the options that :func:`function` was given, if any."""

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
    """Return the kernel ``name``. ``options`` is the name of a class of ``pyarrow.compute``, such as
    ``RoundOptions``; the kernel is called with an instance made from the keyword ``arguments`` (None = the
    kernel's default options).

    >>> import pyarrow as pa
    >>> function("round", "RoundOptions", ndigits=1).call([pa.scalar(1.25)]).as_py()
    1.2
    """
    return Function(name, options, arguments)


def __getattr__(name: str) -> Any:
    """Return the kernel, options class or error ``name`` of ``pyarrow.compute``, and store the object as an
    attribute of this module. Raises AttributeError if ``pyarrow.compute`` has no such name."""
    from pyarrow import _compute  # noqa: PLC0415 - see Function

    try:
        value = getattr(_compute, name)
    except AttributeError:
        from pyarrow import compute  # noqa: PLC0415, TID251 - loaded when first needed

        value = getattr(compute, name)
    globals()[name] = value
    return value
