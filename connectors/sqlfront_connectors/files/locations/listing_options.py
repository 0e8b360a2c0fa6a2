"""Options that choose the files of a location, common to all formats."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING, TIMESTAMP

#: The options by their names in lower case, with their fields.
_FIELDS: Final = {
    "recursivefilelookup": "recursive",
    "pathglobfilter": "name_glob",
    "modifiedbefore": "before",
    "modifiedafter": "after",
    "basepath": "base_path",
    "ignorecorruptfiles": "ignore_corrupt",
    "ignoremissingfiles": "ignore_missing",
}


class ListingOptions(msgspec.Struct, frozen=True):
    """The choice of a location's files. ``recursive``: all files of all directories below are read, and names
    of directories state no partitions. ``name_glob``: a glob that files' names match, None = any name.
    ``before``, ``after``: exclusive bounds of the time of modification (microseconds since 1970), None =
    unbounded. ``base_path``: the directory below which partition directories begin, None = the location.
    ``ignore_corrupt``: unreadable files count as empty. ``ignore_missing``: files removed since the listing
    count as empty."""

    recursive: bool = False
    name_glob: str | None = None
    before: int | None = None
    after: int | None = None
    base_path: str | None = None
    ignore_corrupt: bool = False
    ignore_missing: bool = False

    def as_options(self) -> dict[str, str]:
        """Return this choice as Spark's options, from which :func:`listing_options` makes an equal choice."""
        given = {
            "recursiveFileLookup": str(self.recursive),
            "ignoreCorruptFiles": str(self.ignore_corrupt),
            "ignoreMissingFiles": str(self.ignore_missing),
        }
        given |= {"pathGlobFilter": self.name_glob} if self.name_glob is not None else {}
        given |= {"basePath": self.base_path} if self.base_path is not None else {}
        for name, moment in (("modifiedBefore", self.before), ("modifiedAfter", self.after)):
            if moment is not None:
                given[name] = datetime.fromtimestamp(moment / 1_000_000, UTC).isoformat()
        return given


#: The options that choose every file.
EVERY_FILE: Final = ListingOptions()


def listing_options(options: Mapping[str, str], time_zone: str) -> tuple[ListingOptions, dict[str, str]]:
    """Split a table's options into the choice of files and the remaining options. ``time_zone``: the time
    zone of the options' times that state none. Raises ProgrammingError for an invalid value.

    >>> listing_options({"pathGlobFilter": "*.csv", "header": "true"}, "UTC")
    (ListingOptions(recursive=False, name_glob='*.csv', ...), {'header': 'true'})
    """
    given: dict[str, object] = {}
    others: dict[str, str] = {}
    for name, value in options.items():
        field = _FIELDS.get(name.lower())
        if field is None:
            others[name] = value
        elif field in ("before", "after"):
            given[field] = _moment(name, value, time_zone)
        elif field in ("name_glob", "base_path"):
            given[field] = value
        else:
            given[field] = truth(name, value)
    return ListingOptions(**given), others  # type: ignore[arg-type]


def truth(name: str, value: str) -> bool:
    """Return the boolean that the text ``value`` of the option ``name`` states. Raises ProgrammingError
    unless the text is true or false, in any case."""
    if value.lower() not in ("true", "false"):
        raise ProgrammingError(f"option {name}: {value[:100]!r} is neither true nor false")
    return value.lower() == "true"


def _moment(name: str, value: str, time_zone: str) -> int:
    batch = pa.RecordBatch.from_arrays([from_values([value], STRING)], names=["value"])
    moment = evaluate(Cast(TIMESTAMP, Column(STRING, 0), safe=True), batch, Settings(time_zone))
    if moment.null_count:
        raise ProgrammingError(
            f"option {name}: {value[:100]!r} is not a timestamp such as 2024-01-31T12:00:00"
        )
    return int(moment.cast(pa.int64())[0].as_py())
