"""The adapter for Harlequin, the SQL IDE for the terminal (extra ``harlequin``): ``hsql -a sqlfront``.

Harlequin finds :class:`SqlfrontAdapter` by the entry point of the distribution. In come options and
statements; out go Arrow tables and the items of the catalog's tree. Reading order: ``adapter`` (options and
connecting), ``connection`` (statements, cancellation, completions), ``tree`` (the catalog, level by level).
"""

from sqlfront.harlequin.adapter import SqlfrontAdapter

__all__ = ["SqlfrontAdapter"]
