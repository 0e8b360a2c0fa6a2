"""sqlfront as the steps of the feature files want it: with the few members of Spark's session they use."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import sqlfront
from sqlfront.results.result import Result
from sqlfront.results.row import Row


class Frame:
    """A query's result; ``run`` gives the result of a text. An error in the data is kept until somebody wants
    the rows, since Spark runs a query only then."""

    def __init__(self, run: Callable[[str], Result], text: str) -> None:
        self._run, self._text = run, text
        self._error: sqlfront.DataError | None = None
        try:
            self._result = run(text)
        except sqlfront.DataError as error:
            self._error = error

    def _ready(self) -> Result:
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def schema(self) -> SimpleNamespace:
        """The names and the tree of the columns."""
        result = self._run(f"SELECT * FROM ({self._text}) LIMIT 0") if self._error else self._result
        return SimpleNamespace(names=result.columns, treeString=lambda: _printed(result.printSchema))

    def collect(self) -> list[Row]:
        """All rows."""
        return self._ready().collect()

    def __getattr__(self, name: str) -> Callable[..., object]:
        raise sqlfront.NotSupportedError(f"DataFrame.{name}")

    def createOrReplaceTempView(self, name: str) -> None:
        """Make the rows a view."""
        self._ready().createOrReplaceTempView(name)

    def _show_string(self, n: int, truncate: bool) -> str:
        result = self._ready()
        return _printed(lambda: result.show(n, truncate=truncate))


def _printed(show: Callable[[], None]) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        show()
    return text.getvalue()


class FrontSession:
    """A session with the parts of Spark's session that the steps use."""

    def __init__(self) -> None:
        self._session = sqlfront.connect().session
        self._session.sql("SET TIME ZONE 'UTC'")
        self.conf = SimpleNamespace(get=self._setting, set=self._set, unset=self._unset)
        self.udf = SimpleNamespace(register=self._refused)

    def sql(self, text: str) -> Frame:
        """Run a statement."""
        return Frame(self._run, text)

    def range(self, *numbers: int, numPartitions: int | None = None) -> Frame:
        """A range of numbers."""
        return self.sql(f"SELECT * FROM range({', '.join(map(str, numbers))})")

    def _run(self, text: str) -> Result:
        return cast("Result", self._session.sql(text))

    def _setting(self, key: str) -> str:
        return str(self._session.sql(f"SET {key}").collect()[0].value)

    def _set(self, key: str, value: str) -> None:
        self._session.sql(f"SET {key} = {value}")

    def _unset(self, key: str) -> None:
        self._session.sql(f"RESET {key}")

    def _refused(self, *parts: object) -> None:
        raise sqlfront.NotSupportedError("udf.register")
