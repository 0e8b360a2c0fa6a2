"""Details of a relation that no query reads: comments, properties, and the columns that take no null."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

#: Names with their texts, in the order of the names.
Texts = tuple[tuple[str, str], ...]
#: Spark's defaults of ``spark.redaction.regex`` and ``spark.sql.redaction.options.regex``, as one pattern.
_SECRET: Final = "(?i)secret|password|token|access[.]?key|url"
#: What Spark shows instead of a secret.
_REDACTED: Final = "*********(redacted)"


class RelationDetails(msgspec.Struct, frozen=True):
    """The comments and properties that CREATE, ALTER and COMMENT ON give a relation. ``comment`` is None if
    no statement gave one. ``properties``: TBLPROPERTIES, by key. ``column_comments``: the comments by the
    names of columns. ``required``: the names of the columns that are NOT NULL."""

    comment: str | None = None
    properties: Texts = ()
    column_comments: Texts = ()
    required: tuple[str, ...] = ()

    def comment_of(self, column: str) -> str | None:
        """The comment of the column with exactly that name; None if the column has none."""
        return next((text for name, text in self.column_comments if name == column), None)

    def commented(self, column: str, comment: str) -> "RelationDetails":
        """The details with another comment of one column."""
        return replace(self, column_comments=changed(self.column_comments, {column: comment}))

    def renamed(self, names: Mapping[str, str]) -> "RelationDetails":
        """The details with the comments of the columns in ``names`` (old name, new name) alone."""
        found = [(names[name], text) for name, text in self.column_comments if name in names]
        return replace(self, column_comments=tuple(found))


#: Details of a relation about which no statement has said anything.
NO_DETAILS = RelationDetails()


def changed(texts: Texts, given: Mapping[str, str], without: Iterable[str] = ()) -> Texts:
    """The texts with those of ``given`` in place of, or beside, the present ones, and without the names
    ``without``.

    >>> changed((("a", "1"), ("b", "2")), {"c": "3"}, ["a"])
    (('b', '2'), ('c', '3'))
    """
    gone = set(without)
    whole = {**dict(texts), **given}
    return tuple(sorted((name, text) for name, text in whole.items() if name not in gone))


def with_text(texts: Texts) -> Texts:
    """The properties of which DESCRIBE tells: those whose text isn't empty."""
    return tuple((name, text) for name, text in texts if text)


def redacted(texts: Iterable[tuple[str, str]]) -> Texts:
    """Properties or options as they may be shown: as in Spark, without the texts that are secret by their
    names or by what they say.

    >>> redacted([("fs.s3a.access.key", "abc"), ("note", "password=abc"), ("owner", "me")])
    (('fs.s3a.access.key', '*********(redacted)'), ('note', '*********(redacted)'), ('owner', 'me'))
    """
    is_secret = re.compile(_SECRET).search
    return tuple((name, _REDACTED if is_secret(name) or is_secret(text) else text) for name, text in texts)
