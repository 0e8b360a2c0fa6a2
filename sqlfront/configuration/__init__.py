"""Sources of a connection's settings: arguments, a URL, the environment, and ``sqlfront.toml``.

In: the first argument of :func:`sqlfront.connect` (a URL or the name of a connection), its keywords, the
variables ``SQLFRONT_*`` and the file. Out: a :class:`~sqlfront.config.Config`, and the options of the shell.

Reading order: ``options`` (the table of all options, with the parsers of their values), ``file``
(``sqlfront.toml``), ``urls`` (URLs of sessions and clusters), ``redaction`` (URLs without their secrets),
``connecting`` (the order in which the sources count).
"""

from sqlfront.configuration.file import FileConfig, KeyBindings, NamedConnection, ShellOptions, load

__all__ = ["FileConfig", "KeyBindings", "NamedConnection", "ShellOptions", "load"]
