"""The page of all settings: the keys of SET, and the fields of a session's configuration."""

import inspect
from typing import Final

from docs_build.markdown import code, row, table
from sqlfront.config import Config
from sqlfront.configuration.options import OPTIONS
from sqlfront.state import options

_PAGE: Final = """# Settings

## SET

A session changes these while it runs; each value is part of what a plan is found by.

{keys}
Keys are found in any letter case; `SET` alone lists all keys with their values.

## Config

A session's configuration is fixed when it opens: `sqlfront.connect(timeout=30)`, `Config(timeout=30)`, or,
where a variable stands in the last column, the environment. [Connecting](connecting.md) says which one
counts.

{fields}
::: sqlfront.config.Config
    options:
      show_root_heading: false
      show_root_toc_entry: false
      members: false

::: sqlfront.config.Launcher
    options:
      heading_level: 3
"""


def page() -> str:
    """The page, in Markdown.

    >>> "`sqlfront.lane`" in page()
    True
    """
    return _PAGE.format(keys=_keys(), fields=_fields())


def _keys() -> str:
    rows = (row(code(key), code(default), meaning) for key, default, meaning in options.described())
    return table(("key", "default", "meaning"), rows)


def _fields() -> str:
    known = {option.name: (option.meaning, code(option.variable)) for option in OPTIONS}
    parameters = inspect.signature(Config).parameters.values()
    rows = (
        row(code(field.name), _default(field), *known.get(field.name, ("see below", "")))
        for field in parameters
    )
    return table(("field", "default", "meaning", "variable"), rows)


def _default(field: inspect.Parameter) -> str:
    value = field.default
    return code(repr(getattr(value, "value", value)))
