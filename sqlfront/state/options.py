"""The settings of a session that SET changes, with keys of Spark and of sqlfront."""

import math
import threading
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from sqlfront.config import Config, check_time_zone
from sqlfront.state.same_answers import OTHERS, STATIC, WITHOUT_EFFECT
from sqlfront_planner.lanes import Lane
from sqlfront_planner.pruning import MOST_KEYS
from sqlfront_planner.recursion import LEVEL_LIMIT, ROW_LIMIT
from sqlfront_planner.statement import only_reads
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError, spark_error
from sqlfront_values.settings import Settings


class _Option(msgspec.Struct, frozen=True):
    """A setting that SET knows: its default, the function that checks and normalises a value, and the
    setting's meaning as the docs tell it."""

    default: str
    normalise: Callable[[str], str]
    meaning: str


def _only(*allowed: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value.lower() not in allowed:
            raise NotSupportedError(f"the value {value!r}; supported: {', '.join(allowed)}")
        return value.lower()

    return check


def _seconds(value: str) -> str:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise ProgrammingError(f"{value!r} is not a number of seconds (0 = no limit)")
    return value


def _count(value: str) -> str:
    if not value.isdecimal() or int(value) < 1:
        raise ProgrammingError(f"{value!r} is not a whole number of at least 1")
    return str(int(value))


def _boolean(key: str) -> Callable[[str], str]:
    """Return the check of a setting of Spark whose value is true or false, in any case."""

    def check(value: str) -> str:
        if value.lower() not in ("true", "false"):
            raise _mismatch(key, value)
        return value.lower()

    return check


def _mismatch(key: str, value: str) -> Error:
    return spark_error(
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
        f"The value '{value}' in the config \"{key}\" is invalid. It should be a/an 'boolean' value.",
    )


def _policy(value: str) -> str:
    known = value.upper()
    if known not in _POLICIES:
        raise spark_error(
            "INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS",
            f"The value '{value}' in the config \"{MAP_KEYS}\" is invalid. It should be one of"
            f" '{', '.join(_POLICIES)}'.",
        )
    return known


def _count_or_none(value: str) -> str:
    return "0" if value == "0" else _count(value)


def _limit(key: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        try:
            number = int(value)
        except ValueError:
            number = _LEAST_INT - 1
        if not _LEAST_INT <= number < -_LEAST_INT:
            raise spark_error(
                "INVALID_CONF_VALUE.TYPE_MISMATCH",
                f"The value '{value}' in the config \"{key}\" is invalid. It should be a/an 'int' value.",
            )
        return str(number)

    return check


_LEAST_INT: Final = -(2**31)
TIME_ZONE: Final = "spark.sql.session.timeZone"
ANSI: Final = "spark.sql.ansi.enabled"
RECURSION_LEVELS: Final = "spark.sql.cteRecursionLevelLimit"
RECURSION_ROWS: Final = "spark.sql.cteRecursionRowLimit"
MAP_KEYS: Final = "spark.sql.mapKeyDedupPolicy"
SIZE_OF_NULL: Final = "spark.sql.legacy.sizeOfNull"
KEPT_ESCAPES: Final = "spark.sql.parser.escapedStringLiterals"
TIME_TYPE: Final = "spark.sql.timeType.enabled"
_POLICIES: Final = ("EXCEPTION", "LAST_WIN")
_TIMEOUT: Final = "sqlfront.timeout"
_LANE: Final = "sqlfront.lane"
_AUTOCACHE: Final = "sqlfront.autocache"
_PRUNING: Final = "sqlfront.pruning"
_PRUNING_LIMIT: Final = "sqlfront.pruning.limit"

_OPTIONS: Final[dict[str, _Option]] = {
    TIME_ZONE: _Option("UTC", check_time_zone, "the time zone of TIMESTAMP values, a name that Spark knows"),
    ANSI: _Option(
        "true",
        _boolean(ANSI),
        "whether overflows, malformed values and divisions by zero raise errors; false: wrap around, null",
    ),
    MAP_KEYS: _Option(
        "EXCEPTION", _policy, "equal keys of a new map: EXCEPTION = an error, LAST_WIN = the last one counts"
    ),
    SIZE_OF_NULL: _Option(
        "true", _boolean(SIZE_OF_NULL), "whether the size of null is -1, with ANSI mode off; else null"
    ),
    KEPT_ESCAPES: _Option(
        "false", _boolean(KEPT_ESCAPES), "whether escapes in string literals stay as they are written"
    ),
    TIME_TYPE: _Option(
        "false", _boolean(TIME_TYPE), "whether values may be cast to TIME, and TIME's functions be called"
    ),
    "spark.sql.caseSensitive": _Option("false", _only("false"), "names by letter case; only false is built"),
    RECURSION_LEVELS: _Option(
        str(LEVEL_LIMIT), _limit(RECURSION_LEVELS), "the most levels of a WITH RECURSIVE; -1 = no limit"
    ),
    RECURSION_ROWS: _Option(
        str(ROW_LIMIT), _limit(RECURSION_ROWS), "the most rows of a WITH RECURSIVE; -1 = no limit"
    ),
    _TIMEOUT: _Option("0", _seconds, "seconds that a statement may take; 0 = no limit"),
    _LANE: _Option(
        "auto",
        _only("auto", "light", "durable", "spark"),
        "who answers: auto, light (sqlfront), durable (queries are durable jobs) or spark",
    ),
    _AUTOCACHE: _Option("0", _count_or_none, "reads after which a table of Spark's is cached; 0 = never"),
    _PRUNING: _Option("true", _only("true", "false"), "whether scans read only the keys that a query needs"),
    _PRUNING_LIMIT: _Option(str(MOST_KEYS), _count, "the most keys that are looked up in one table"),
}


def described() -> list[tuple[str, str, str]]:
    """Return the key, default and meaning of each setting that SET knows, sorted by key."""
    return sorted((key, option.default, option.meaning) for key, option in _OPTIONS.items())


class Options:
    """The settings of one session, or those under which a durable job writes its rows into a table; safe to
    use from several threads."""

    def __init__(self, config: Config) -> None:
        self._lock = threading.Lock()
        self._values = {key: option.default for key, option in _OPTIONS.items()}
        self._values[TIME_ZONE] = config.time_zone
        #: Spark's settings that have no effect here, as they were set.
        self._others: dict[str, str] = {}
        self._zone_at_start = config.time_zone
        if config.timeout is not None:
            self._values[_TIMEOUT] = str(config.timeout)
        #: The settings for evaluation; replaced as a whole.
        self.settings = Settings(time_zone=config.time_zone)
        #: Seconds that a statement may take; None = no limit.
        self.timeout = self._read_timeout()
        #: All values, as a part of keys that depend on them; None while a value changes. Every change makes a
        #: new object: the same object before and after some work proves that no value changed meanwhile.
        self.key: tuple[str, ...] | None = self._make_key()

    def _make_key(self) -> tuple[str, ...]:
        values = tuple(value for _, value in sorted(self._values.items()))
        return (*values, self.settings.catalog, self.settings.database)

    def _read_timeout(self) -> float | None:
        return float(self._values[_TIMEOUT]) or None

    @property
    def lane(self) -> str:
        """The setting of the lanes that queries may take: ``light`` = only sqlfront's, ``spark`` = only
        Spark's, ``durable`` = queries run as durable jobs, ``auto`` = sqlfront's if it covers the query and
        has the memory for it, else Spark's."""
        return self._values[_LANE]

    def keeps(self, text: str) -> bool:
        """Return whether the setting of the lanes keeps the statement ``text`` from Spark: ``light`` keeps
        all statements, ``durable`` keeps queries and EXPLAIN of queries."""
        return self.lane == Lane.LIGHT or (self.lane == Lane.DURABLE and only_reads(text))

    @property
    def ansi(self) -> bool:
        """Whether ANSI mode is on (``spark.sql.ansi.enabled``)."""
        return self._values[ANSI] == "true"

    @property
    def keeps_last_key(self) -> bool:
        """Whether the last of equal keys of a new map counts (``spark.sql.mapKeyDedupPolicy``)."""
        return self._values[MAP_KEYS] == "LAST_WIN"

    @property
    def sizes_null(self) -> bool:
        """Whether the size of null is -1 with ANSI mode off (``spark.sql.legacy.sizeOfNull``)."""
        return self._values[SIZE_OF_NULL] == "true"

    @property
    def keeps_escapes(self) -> bool:
        """Whether escapes in string literals stay as they are written
        (``spark.sql.parser.escapedStringLiterals``)."""
        return self._values[KEPT_ESCAPES] == "true"

    @property
    def takes_time(self) -> bool:
        """Whether values may be cast to TIME, and functions of TIME be called
        (``spark.sql.timeType.enabled``)."""
        return self._values[TIME_TYPE] == "true"

    @property
    def autocache(self) -> int:
        """The number of times that queries must read a relation of Spark's before sqlfront copies it into
        memory by itself, as CACHE TABLE does; 0 = never."""
        return int(self._values[_AUTOCACHE])

    @property
    def most_keys(self) -> int:
        """The greatest number of keys that a scan looks up in a table instead of reading all rows; 0 = scans
        always read all rows."""
        return int(self._values[_PRUNING_LIMIT]) if self._values[_PRUNING] == "true" else 0

    @property
    def recursion_limits(self) -> tuple[int, int]:
        """The most levels and the most rows of a WITH RECURSIVE; -1 = no limit."""
        return int(self._values[RECURSION_LEVELS]), int(self._values[RECURSION_ROWS])

    def knows(self, key: str) -> bool:
        """Return whether a key is one of the session's options; the key's case doesn't matter."""
        return any(known.lower() == key.lower() for known in _OPTIONS)

    def items(self) -> list[tuple[str, str]]:
        """Return all keys and values, sorted by key."""
        with self._lock:
            return sorted((self._values | self._others).items())

    def of_spark(self) -> dict[str, str]:
        """Return the settings whose keys are Spark's (``spark.*``), with their values."""
        return {key: value for key, value in self.items() if key.startswith("spark.")}

    def get(self, key: str) -> str:
        """Return the value of a key; the key's case doesn't matter. Raises NotSupportedError for an unknown
        key that was never set."""
        return self._others.get(key) or self._values[self._known(key)]

    def set(self, key: str, value: str) -> str:
        """Set the value of a key; return the normalised value. A setting of Spark SQL (``spark.sql.*``) that
        has no effect on answers is only stored. Raises NotSupportedError for an unknown key or an unsupported
        value, ProgrammingError for a malformed value."""
        if self._is_without_effect(key, value):
            with self._lock:
                self._others[key] = value
            return value
        known = self._known(key)
        try:
            normal = _OPTIONS[known].normalise(value)
        except NotSupportedError as error:
            raise NotSupportedError(f"SET {known}: {error.message}") from None
        with self._lock:
            self.key = None
            self._values[known] = normal
            self.settings = replace(self.settings, time_zone=self._values[TIME_ZONE])
            self.timeout = self._read_timeout()
            self.key = self._make_key()
        return normal

    def reset(self, key: str) -> None:
        """Set a key to its value at the session's start; an unknown key changes nothing."""
        with self._lock:
            self._others.pop(key, None)
        known = next((known for known in _OPTIONS if known.lower() == key.lower()), None)
        if known is not None:
            self.set(known, self._zone_at_start if known == TIME_ZONE else _OPTIONS[known].default)

    def use(self, catalog: str, database: str) -> None:
        """Make ``database`` of ``catalog`` the session's current database."""
        with self._lock:
            self.key = None
            self.settings = replace(self.settings, catalog=catalog, database=database)
            self.key = self._make_key()

    def _is_without_effect(self, key: str, value: str) -> bool:
        """Return whether a setting of Spark SQL that isn't one of the session's options can be stored as it
        is: it has no effect on answers, or the value under which Spark and sqlfront give the same answers.
        False for a setting of unknown effect. Raises NotSupportedError for another value."""
        if not key.startswith("spark.sql.") or self.knows(key):
            return False
        if key in STATIC:
            raise spark_error(
                "CANNOT_MODIFY_STATIC_CONFIG",
                f'Cannot modify the value of the static Spark config: "{key}".',
            )
        known = key in OTHERS or key.startswith(WITHOUT_EFFECT)
        if known and key.endswith(".enabled") and value.lower() not in ("true", "false"):
            raise _mismatch(key, value)
        if key in OTHERS and OTHERS[key].lower() != value.lower():
            raise NotSupportedError(f"SET {key}: the value {value!r}; supported: {OTHERS[key]}")
        return known

    def _known(self, key: str) -> str:
        for known in _OPTIONS:
            if known.lower() == key.lower():
                return known
        raise NotSupportedError(f"SET {key}: unknown setting; known settings: {', '.join(sorted(_OPTIONS))}")
