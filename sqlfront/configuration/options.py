"""The options of a connection, as one table for URLs, the environment, ``sqlfront.toml`` and the docs."""

import os
import re
from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

from sqlfront_planner.binder.names.shown_names import nearest_words
from sqlfront_values.errors import ProgrammingError

#: The value of an option.
OptionValue = int | float | bool | str | tuple[str, ...] | dict[str, str | float | bool]

_INTEGER: Final = r"[+-]?[0-9]{1,18}"
_NUMBER: Final = r"[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,3})?"
_SIZE: Final = r"([0-9]{1,18})\s*([kmgt]?)(i?b)?"
_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_BOOLEANS: Final = {"": True, "true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
#: Characters of a wrong value that a message shows.
_SHOWN: Final = 60


class OptionKind(Enum):
    """The kind of values that an option takes; each member's text describes the values in messages and in the
    docs."""

    INTEGER = "an integer"
    NUMBER = "a number"
    """Integers included."""
    SIZE = "a number of bytes, or a text such as 512MiB or 4g"
    """The units are Spark's: k, m, g and t are powers of 1024, with or without b or ib."""
    BOOLEAN = "true or false"
    TEXT = "a text"
    CHOICE = "one of the choices"
    FOLDERS = "all, none, or folders"
    """One text with the folders separated as in PATH, or in TOML a list of texts."""
    NAMES = "names separated by commas"
    """In TOML also a list of texts."""
    PAIRS = "names and values, as in parallelism=4,lease=10min"
    """In TOML also a table."""


#: Kinds whose values TOML writes as texts.
_TEXTS: Final = frozenset(
    [
        OptionKind.SIZE,
        OptionKind.TEXT,
        OptionKind.CHOICE,
        OptionKind.FOLDERS,
        OptionKind.NAMES,
        OptionKind.PAIRS,
    ]
)


class OptionScope(Enum):
    """The sessions to which an option applies."""

    ANY = "any session"
    OWN = "a session with members of its own"
    CLUSTER = "a session of a cluster"
    """Options that say which cluster, and that open the cluster."""


class ConnectionOption(msgspec.Struct, frozen=True):
    """An option of a connection. ``name``: the field of :class:`~sqlfront.config.Config`, the keyword of
    :func:`sqlfront.connect`, the option of a URL (if ``in_url``) and the key in ``sqlfront.toml``;
    ``variable``: the name in the environment. ``kind`` and ``choices``: the values that the option takes.
    ``meaning``: a text for the docs. The value of a ``secret`` option is never shown."""

    name: str
    kind: OptionKind
    meaning: str
    scope: OptionScope = OptionScope.ANY
    choices: tuple[str, ...] = ()
    secret: bool = False
    in_url: bool = True

    @property
    def variable(self) -> str:
        """The option's variable in the environment."""
        return f"SQLFRONT_{self.name.upper()}"

    @property
    def expected(self) -> str:
        """The values that the option takes, in words."""
        return f"one of {', '.join(self.choices)}" if self.choices else self.kind.value

    def parsed(self, text: str, place: str) -> OptionValue:
        """Return the value of a text from a URL or the environment. Raises ProgrammingError for a text that
        is no value of the option; ``place``: the option's name in the message.

        >>> option_named("memory_limit").parsed("4g", "SQLFRONT_MEMORY_LIMIT")
        4294967296
        """
        value = self._parsed(text)
        if value is None:
            raise self.refused(text, place)
        return value

    def accepted(self, value: object, place: str) -> OptionValue:
        """Return the option's value for a TOML value. Raises ProgrammingError for a TOML value that the
        option does not take; ``place`` names the option in the message."""
        if isinstance(value, str):
            taken = self._parsed(value) if self.kind in _TEXTS else None
        else:
            taken = self._typed(value)
        if taken is None:
            raise self.refused(value, place)
        return taken

    def refused(self, value: object, place: str) -> ProgrammingError:
        """Return the error for a value that the option does not take; ``place`` names the option in the
        message."""
        return ProgrammingError(f"{place} must be {self.expected}, not {self._shown(value)}")

    def _shown(self, value: object) -> str:
        if self.secret:
            return "the given value"
        text = repr(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def _parsed(self, text: str) -> OptionValue | None:
        if "\0" in text:
            return None
        match self.kind:
            case OptionKind.INTEGER:
                return int(text) if re.fullmatch(_INTEGER, text) else None
            case OptionKind.NUMBER:
                return float(text) if re.fullmatch(_NUMBER, text) else None
            case OptionKind.SIZE:
                size = re.fullmatch(_SIZE, text.lower())
                return int(size[1]) * _FACTORS[size[2]] if size else None
            case OptionKind.BOOLEAN:
                return _BOOLEANS.get(text.lower())
            case OptionKind.CHOICE:
                return text.lower() if text.lower() in self.choices else None
            case OptionKind.FOLDERS:
                return text if text in ("all", "none") else _several(text.split(os.pathsep))
            case OptionKind.NAMES:
                return _several([name.strip() for name in text.split(",")])
            case OptionKind.PAIRS:
                return _pairs([pair.partition("=") for pair in text.split(",")])
            case OptionKind.TEXT:
                return text or None

    def _typed(self, value: object) -> OptionValue | None:
        """Return the option's value for a TOML value other than a text; None if the option does not take the
        value."""
        match self.kind, value:
            case OptionKind.BOOLEAN, bool():
                return value
            case _, bool():
                return None
            case OptionKind.INTEGER | OptionKind.SIZE | OptionKind.NUMBER, int():
                return value
            case OptionKind.NUMBER, float():
                return value
            case OptionKind.FOLDERS | OptionKind.NAMES, list() if all(
                isinstance(each, str) for each in value
            ):
                return _several(value)
            case OptionKind.PAIRS, dict() if value and all(
                isinstance(each, str | int | float) for each in value.values()
            ):
                return value
        return None


def _pairs(parts: Sequence[tuple[str, str, str]]) -> dict[str, str | float | bool] | None:
    """Return the values by name; None if a name or a value is missing, or a name is there twice. ``parts``:
    name, equals sign and value of each pair."""
    pairs: dict[str, str | float | bool] = {name.strip(): value.strip() for name, _, value in parts}
    is_whole = len(pairs) == len(parts) and all(name and value for name, value in pairs.items())
    return pairs if is_whole else None


def _several(texts: Sequence[str]) -> tuple[str, ...] | None:
    return tuple(texts) if texts and all(text and "\0" not in text for text in texts) else None


_LAUNCHERS: Final = ("embedded", "local", "spark")

#: All options of a connection that a text can give.
OPTIONS: Final = (
    ConnectionOption(
        "cluster",
        OptionKind.TEXT,
        "address or folder of the cluster that the session joins",
        OptionScope.CLUSTER,
        in_url=False,
    ),
    ConnectionOption(
        "lite",
        OptionKind.BOOLEAN,
        "whether the session is a lite member of the cluster; default: true",
        OptionScope.CLUSTER,
    ),
    ConnectionOption("secret", OptionKind.TEXT, "the cluster's secret", OptionScope.CLUSTER, secret=True),
    ConnectionOption(
        "credentials",
        OptionKind.TEXT,
        "file that opens the cluster",
        OptionScope.CLUSTER,
    ),
    ConnectionOption("certificate", OptionKind.TEXT, "PEM file of a certificate", OptionScope.CLUSTER),
    ConnectionOption("key", OptionKind.TEXT, "PEM file of the certificate's key", OptionScope.CLUSTER),
    ConnectionOption(
        "authority",
        OptionKind.TEXT,
        "PEM file of the signing authority",
        OptionScope.CLUSTER,
    ),
    ConnectionOption(
        "insecure", OptionKind.BOOLEAN, "no encryption; both sides have to say so", OptionScope.CLUSTER
    ),
    ConnectionOption("members", OptionKind.INTEGER, "number of the session's own members", OptionScope.OWN),
    ConnectionOption(
        "launcher",
        OptionKind.CHOICE,
        "place of the session's own members",
        OptionScope.OWN,
        choices=_LAUNCHERS,
    ),
    ConnectionOption(
        "allow_user_code",
        OptionKind.BOOLEAN,
        "whether own members in other processes run Python functions of a pipeline",
        OptionScope.OWN,
    ),
    ConnectionOption(
        "processor_modules",
        OptionKind.NAMES,
        "modules whose processors own members in other processes import and run",
        OptionScope.OWN,
    ),
    ConnectionOption(
        "spark", OptionKind.TEXT, "Spark beside the session: a master (local[2]), or sc://host for a server"
    ),
    ConnectionOption("workers", OptionKind.INTEGER, "worker threads; default: one per core"),
    ConnectionOption(
        "memory_limit",
        OptionKind.SIZE,
        "bytes that all running statements and memory tables hold together",
    ),
    ConnectionOption("query_memory_limit", OptionKind.SIZE, "bytes that one statement holds, on each member"),
    ConnectionOption("timeout", OptionKind.NUMBER, "seconds that a statement takes; default: no limit"),
    ConnectionOption("time_zone", OptionKind.TEXT, "time zone of TIMESTAMP values; default: UTC"),
    ConnectionOption("warehouse", OptionKind.TEXT, "folder of tables in a file format without LOCATION"),
    ConnectionOption("file_access", OptionKind.FOLDERS, "files that statements read and write"),
    ConnectionOption(
        "collect_rows", OptionKind.NUMBER, "estimated rows of inputs that one member collects; default: 20000"
    ),
    ConnectionOption(
        "silence_limit",
        OptionKind.NUMBER,
        "seconds after which a silent member is given up; default: 30",
        OptionScope.OWN,
    ),
    ConnectionOption(
        "backups",
        OptionKind.INTEGER,
        "backups of memory tables on other members, 0 to 2; default: the cluster's, or 1 for members in"
        " processes",
    ),
    ConnectionOption(
        "handover_timeout",
        OptionKind.NUMBER,
        "seconds for which an own member that gets SIGTERM moves its rows to the others; default: 300",
        OptionScope.OWN,
    ),
    ConnectionOption(
        "force_leave",
        OptionKind.BOOLEAN,
        "whether such a member leaves without the rows for which the others have no room; default: false",
        OptionScope.OWN,
    ),
    ConnectionOption("plan_cache", OptionKind.INTEGER, "number of plans that are kept; default: 1000"),
    ConnectionOption(
        "job_store", OptionKind.TEXT, "directory or URL of durable jobs, which outlive the session"
    ),
    ConnectionOption(
        "job_recovery",
        OptionKind.BOOLEAN,
        "take over the jobs whose process is gone; default: false",
    ),
    ConnectionOption(
        "job_options",
        OptionKind.PAIRS,
        "options of durable jobs, unless `CREATE JOB` gives the option; default: none",
    ),
    ConnectionOption(
        "query_history", OptionKind.INTEGER, "number of ended statements in `sys.queries`; default: none"
    ),
    ConnectionOption(
        "slow_query", OptionKind.NUMBER, "seconds above which a statement is logged; default: no log lines"
    ),
    ConnectionOption("metrics", OptionKind.TEXT, "`host:port` at which Prometheus gets metrics"),
    ConnectionOption("tracing", OptionKind.BOOLEAN, "whether each statement has a span of OpenTelemetry"),
    ConnectionOption("show_literals", OptionKind.BOOLEAN, "whether operators see the literals of statements"),
)

_BY_NAME: Final = {option.name: option for option in OPTIONS}


def option_named(name: str) -> ConnectionOption | None:
    """Return the option with the name; None if no option has the name."""
    return _BY_NAME.get(name)


def did_you_mean(wanted: str, known: Sequence[str]) -> str:
    """Return a half-sentence for a message: the known name nearest to the wrong name ``wanted``, then all
    known names.

    >>> did_you_mean("pagr", ["format", "pager"])
    "did you mean 'pager'? Known: format, pager"

    Without known names it is "none is known".
    """
    if not known:
        return "none is known"
    return f"did you mean {nearest_words(wanted, known)[0]!r}? Known: {', '.join(known)}"
