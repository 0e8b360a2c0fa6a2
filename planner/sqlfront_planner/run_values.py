"""The values that are fixed once per run, such as ``current_date``."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from sqlfront_engine.process_user import process_user
from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import Expr, Literal, RunValue
from sqlfront_values.java.civil import NANOS_PER_MICRO, NANOS_PER_SECOND
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings
from sqlfront_values.types import TimeType
from sqlfront_values.zones import names as zone_names

if TYPE_CHECKING:
    from sqlfront_values.casts import times
else:
    times = lazy_module("sqlfront_values.casts.times")

#: The clock of a run.
Now = Callable[[], datetime]

#: The result of ``version()``: the version of Spark whose answers the engine gives.
SPARK_VERSION: Final = "4.3.0 sqlfront"


def utc_now() -> datetime:
    """Return the current time of the system's clock, in UTC."""
    return datetime.now(UTC)


class RunValues:
    """The values of one run, such as ``current_date``, as literals. All values that depend on the time are of
    one moment: the time that ``now`` returns when the object is made."""

    def __init__(self, settings: Settings, now: Now = utc_now) -> None:
        self.settings = settings
        self._zone = settings.time_zone
        self._now = now()

    def literal(self, value: RunValue) -> Expr:
        """Return the value in this run, as a Literal of the same type.

        >>> import pyarrow as pa
        >>> from datetime import datetime, timezone
        >>> evening = datetime(2024, 5, 1, 20, 0, tzinfo=timezone.utc)
        >>> values = RunValues(Settings("Asia/Tokyo"), lambda: evening)
        >>> values.literal(RunValue(pa.date32(), "current_date")).value
        datetime.date(2024, 5, 2)
        """
        if isinstance(value.type, TimeType):
            return Literal(value.type, times.cut(self._nanos(), value.type.precision))
        return Literal(value.type, self._value(value.name))

    def _nanos(self) -> int:
        """Return the nanoseconds since midnight of the local time."""
        moment = self._now.astimezone(zone_names.zone_of(self._zone))
        seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
        return seconds * NANOS_PER_SECOND + moment.microsecond * NANOS_PER_MICRO

    def _value(self, name: str) -> object:
        match name:
            case "current_date" | "curdate":
                return self._now.astimezone(zone_names.zone_of(self._zone)).date()
            case "current_timestamp" | "now":
                return self._now
            case "localtimestamp":
                return self._now.astimezone(zone_names.zone_of(self._zone)).replace(tzinfo=None)
            case "current_timezone":
                return self._zone
            case "current_user" | "user" | "session_user":
                return process_user()
            case "current_schema" | "current_database":
                return self.settings.database
            case "version":
                return SPARK_VERSION
            case "current_path":
                return f"system.builtin,system.session,{self.settings.catalog}.{self.settings.database}"
            case "current_catalog":
                return self.settings.catalog
            case _:
                raise InternalError(f"{name} is not a value of a run")
