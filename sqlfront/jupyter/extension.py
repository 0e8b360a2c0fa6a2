"""The function that ``%load_ext sqlfront`` calls."""

from typing import TYPE_CHECKING

from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from sqlfront.jupyter import magics
else:
    magics = lazy_module("sqlfront.jupyter.magics")


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Load the magics ``%sql`` and ``%%sql`` into IPython or a notebook; called by ``%load_ext sqlfront``."""
    magics.load(shell)
