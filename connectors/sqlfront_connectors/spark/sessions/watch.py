"""Notification of changes that this process makes to Spark's tables, views and settings.

While there is a :class:`Watcher`, the methods of PySpark that make changes are replaced by methods that also
call its callback: methods of the catalog, of settings, writers and frames, and ``sql`` for a text that isn't
just a query. The methods belong to classes, so a change through any session of the process is noticed. A
change by another process is noticed neither here nor by Spark's own cache.
"""

import itertools
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Final

_CATALOG: Final = (
    "createTable createExternalTable dropTable dropView truncateTable dropTempView dropGlobalTempView "
    "dropDatabase refreshTable refreshByPath recoverPartitions setCurrentDatabase setCurrentCatalog"
)
_FRAME: Final = (
    "registerTempTable createTempView createOrReplaceTempView createGlobalTempView "
    "createOrReplaceGlobalTempView"
)
_SETTINGS: Final = "set unset"
_WRITER: Final = "save insertInto saveAsTable json parquet text csv xml orc jdbc"
_WRITER_V2: Final = "create replace createOrReplace append overwrite overwritePartitions"

#: Module, class and methods: of sessions with a JVM of their own, and of Spark Connect.
_CLASSIC: Final = (
    ("pyspark.sql.session", "SparkSession", "sql"),
    ("pyspark.sql.conf", "RuntimeConfig", _SETTINGS),
    ("pyspark.sql.catalog", "Catalog", _CATALOG),
    ("pyspark.sql.classic.dataframe", "DataFrame", _FRAME),
    ("pyspark.sql.readwriter", "DataFrameWriter", _WRITER),
    ("pyspark.sql.readwriter", "DataFrameWriterV2", _WRITER_V2),
    ("pyspark.sql.merge", "MergeIntoWriter", "merge"),
)
_CONNECT: Final = (
    ("pyspark.sql.connect.session", "SparkSession", "sql"),
    ("pyspark.sql.connect.conf", "RuntimeConf", _SETTINGS),
    ("pyspark.sql.connect.catalog", "Catalog", _CATALOG),
    ("pyspark.sql.connect.dataframe", "DataFrame", _FRAME),
    ("pyspark.sql.connect.readwriter", "DataFrameWriter", _WRITER),
    ("pyspark.sql.connect.readwriter", "DataFrameWriterV2", _WRITER_V2),
    ("pyspark.sql.connect.merge", "MergeIntoWriter", "merge"),
)
#: Text that may precede the first word of a statement.
_BEFORE: Final = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WORD: Final = re.compile(r"\w*")
_QUERIES: Final = frozenset({"SELECT", "VALUES", "TABLE"})
_MAY_QUERY: Final = frozenset({"WITH", "FROM"})
_TELLS: Final = frozenset({"EXPLAIN", "SHOW", "DESC", "DESCRIBE", "LIST"})
_WRITES: Final = re.compile(r"\b(?:INSERT|MERGE|UPDATE|DELETE)\b", re.IGNORECASE)


def may_change(text: str) -> bool:
    """Return whether a statement may change tables, views or settings, judged by its words; True if they
    don't tell.

    >>> may_change("/* daily */ (SELECT 1)"), may_change("WITH t AS (SELECT 1) INSERT INTO u SELECT * FROM t")
    (False, True)
    """
    return not is_query(text) and first_word(text) not in _TELLS


def is_query(text: str) -> bool:
    """Return whether a statement is a query, judged by its words; False if they don't tell.

    >>> is_query("FROM t |> WHERE a > 1"), is_query("SHOW TABLES")
    (True, False)
    """
    word = first_word(text)
    return word in _QUERIES or (word in _MAY_QUERY and _WRITES.search(text) is None)


def first_word(text: str) -> str:
    """Return the first word of a statement in upper case, skipping comments, blanks and parentheses; the
    empty text if the statement has no word."""
    start = _BEFORE.match(text)
    found = _WORD.match(text, start.end() if start else 0)
    return found.group().upper() if found else ""


class Watcher:
    """The registration of ``callback``, a function that is called whenever this process has changed Spark's
    tables, views or settings.

    The registration ends with :meth:`close`, or when this object is garbage-collected.
    """

    def __init__(self, callback: Callable[[], None], *, connect: bool = False) -> None:
        """``callback``: called in the thread that made the change, after the change; it must not raise.
        ``connect``: True to notice changes through sessions over Spark Connect, False through classic
        sessions."""
        self.callback = callback
        with _lock:
            _watchers.add(self)
            for module, name, methods in _CONNECT if connect else _CLASSIC:
                _hook(getattr(import_module(module), name), methods.split())

    def close(self) -> None:
        """End the calls of the callback. When the last watcher is closed, PySpark's own methods, which were
        replaced to notice changes, are restored."""
        with _lock:
            _watchers.discard(self)
            if not _watchers:
                _unhook()


@contextmanager
def unwatched() -> Iterator[None]:
    """Return a context manager within which changes made by this thread call no callback of a
    :class:`Watcher`."""
    before = getattr(_here, "unwatched", False)
    _here.unwatched = True
    try:
        yield
    finally:
        _here.unwatched = before


_here: Final = threading.local()
#: Guards the registries below; reentrant, since a session that is forgotten ends at any point.
_lock: Final = threading.RLock()
_watchers: Final[weakref.WeakSet[Watcher]] = weakref.WeakSet()
#: The original methods and the notifying methods in their place, by class and name.
_hooks: Final[dict[tuple[type, str], tuple[Callable[..., object], Callable[..., object]]]] = {}


def _hook(kind: type, methods: list[str]) -> None:
    for name in methods:
        original = kind.__dict__.get(name)
        if original is not None and (kind, name) not in _hooks:
            telling = _telling(original, name == "sql")
            _hooks[kind, name] = original, telling
            setattr(kind, name, telling)


def _unhook() -> None:
    while _hooks:
        (kind, name), (original, telling) = _hooks.popitem()
        if kind.__dict__.get(name) is telling:  # a foreign wrapper around ours stays
            setattr(kind, name, original)


def _telling(method: Callable[..., object], takes_text: bool) -> Callable[..., object]:
    @wraps(method)
    def call(self: object, *arguments: object, **named: object) -> object:
        try:
            return method(self, *arguments, **named)
        finally:
            text = arguments[0] if arguments else named.get("sqlQuery")
            tell(text if takes_text and isinstance(text, str) else None)

    return call


def last_change() -> int:
    """Return the number of the last change of which :class:`Watcher` objects were notified; the number grows
    with each change."""
    return _last[0]


_numbers: Final = itertools.count(1)
#: Invariant: each number is stored once, even if several threads tell of changes at the same time.
_last: Final = [0]


def tell(text: str | None = None) -> None:
    """Call the callbacks of all watchers, because Spark's tables, views or settings may have changed.
    ``text``: the statement that has run, None = the change was no statement. Does nothing if the statement
    only reads, and within :func:`unwatched`."""
    if not getattr(_here, "unwatched", False) and (text is None or may_change(text)):
        _last[0] = next(_numbers)
        with _lock:
            watchers = tuple(_watchers)
        for watcher in watchers:
            watcher.callback()
