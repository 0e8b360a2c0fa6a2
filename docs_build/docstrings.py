"""The docstrings of the packages as Markdown, for the pages of the Python API."""

import re
from typing import Final

import griffe

_ROLE: Final = re.compile(r":(?:\w+:)+`~?(?:[\w.]*\.)?([\w]+)`")
_EXAMPLE: Final = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class HouseDocstrings(griffe.Extension):
    """Rewrites each docstring that is read for the site."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """The docstring with names for Sphinx's roles, fences around examples, and code for literal blocks.

    >>> as_markdown("See :func:`~sqlfront.api.attach`.")
    'See `attach`.'
    """
    text = _ROLE.sub(r"`\1`", text)
    text = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
    return re.sub(r"::$", ":", text, flags=re.MULTILINE)
