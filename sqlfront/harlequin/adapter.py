"""The adapter: options of the command line, and how to connect."""

from collections.abc import Sequence
from typing import ClassVar, Final

from harlequin import HarlequinAdapter
from harlequin.exception import HarlequinConfigError, HarlequinConnectionError
from harlequin.options import TextOption

from sqlfront import api
from sqlfront.harlequin.connection import SqlfrontConnection
from sqlfront_planner.run_values import SPARK_VERSION
from sqlfront_values.errors import Error

_NUMBERS: Final = {"members": int, "workers": int, "memory-limit": int, "query-timeout": float}


def _number(text: str) -> tuple[bool, str | None]:
    """Return whether the text of an option is a number or empty, and the complaint for Harlequin to show
    (None for a number)."""
    return (True, None) if not text or text.replace(".", "", 1).isdigit() else (False, "expected a number")


#: The options of the command line and of Harlequin's configuration file, named as the keywords of
#: :func:`sqlfront.connect`.
OPTIONS: Final = (
    TextOption("spark", "A Spark session beside sqlfront: a master (local[2]) or sc://host."),
    TextOption("credentials", "The file with the credentials of a cluster."),
    TextOption("members", "The number of members of a session of its own.", validator=_number),
    TextOption("workers", "The number of threads that run jobs.", validator=_number),
    TextOption("memory-limit", "The bytes that tables and queries may hold.", validator=_number),
    TextOption("query-timeout", "The seconds after which a statement ends with an error.", validator=_number),
    TextOption("time-zone", "The time zone of the session, such as Europe/Berlin."),
)
#: The keywords of :func:`sqlfront.connect` that have other names than the options.
_KEYWORDS: Final = {"query-timeout": "timeout"}


class SqlfrontAdapter(HarlequinAdapter):  # type: ignore[misc]
    """The adapter that Harlequin loads for ``-a sqlfront``. The connection string is a URL or the name of a
    connection in ``sqlfront.toml``; without a connection string, a new session opens in this process."""

    ADAPTER_OPTIONS: ClassVar[list[TextOption]] = list(OPTIONS)
    IMPLEMENTS_CANCEL = True
    IMPLEMENTS_VALIDATE_SQL = True
    ADAPTER_DETAILS = f"sqlfront: SQL as Spark {SPARK_VERSION.partition(' ')[0]} answers it."

    def __init__(self, conn_str: Sequence[str], read_only: bool = False, **options: object) -> None:
        """Take the connection string and the options; options of other adapters are ignored. Raises
        HarlequinConfigError for more than one connection string, for ``read_only``, and for a value of a
        wrong type."""
        if len(conn_str) > 1:
            raise HarlequinConfigError(
                msg=f"expected one URL or name of a connection, but there are {len(conn_str)}",
                title="sqlfront could not read the connection string.",
            )
        if read_only:
            raise HarlequinConfigError(
                msg="a session of sqlfront can't be read-only", title="sqlfront has no option --read-only."
            )
        self._target = conn_str[0] if conn_str and conn_str[0] else None
        self._keywords = _keywords(options)

    @property
    def connection_id(self) -> str | None:
        """The name under which Harlequin stores editors and history; None if there is a connection string:
        Harlequin then makes the name by a hash, so that no secret in the string is stored."""
        return "sqlfront" if self._target is None else None

    def connect(self) -> SqlfrontConnection:
        """Open the connection, and return it. Raises HarlequinConnectionError if that fails."""
        try:
            return SqlfrontConnection(api.connect(self._target, **self._keywords))  # type: ignore[arg-type]
        except (Error, OSError) as error:
            raise HarlequinConnectionError(
                msg=str(error), title="sqlfront could not open the connection."
            ) from error


def _keywords(options: dict[str, object]) -> dict[str, object]:
    """Return the keyword arguments of :func:`sqlfront.connect` for Harlequin's options, whose names have
    underscores and whose numbers are texts. Raises HarlequinConfigError for a text that is no number."""
    found: dict[str, object] = {}
    for option in OPTIONS:
        value = options.get(option.name.replace("-", "_"), options.get(option.name))
        if value is None or value == "":
            continue
        keyword = _KEYWORDS.get(option.name, option.name.replace("-", "_"))
        try:
            found[keyword] = _NUMBERS.get(option.name, str)(str(value))
        except ValueError:
            raise HarlequinConfigError(
                msg=f"the option {option.name} is {value!r}; expected a number",
                title="sqlfront could not read an option.",
            ) from None
    return found
