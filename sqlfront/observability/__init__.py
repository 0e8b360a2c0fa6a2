"""The view of operators on a session's statements: ``sys.queries``, log lines, metrics and spans.

A session that is asked for any of these (:class:`~sqlfront.config.Config`) has an observer, all others have
none, and do no work for it. Statements come in; each has one observation, which every watcher hears of twice:
when the statement begins, and when its last row was given, its result was closed, or it has failed.

Reading order: ``observation`` (a statement's facts), ``account`` (the rows that a result gives), ``masking``
(texts without literals), ``observer`` (tells the watchers), ``watching`` (makes a session's watchers); then
the watchers: ``history`` (``sys.queries``), ``statement_log`` (loggers), ``metrics`` (Prometheus),
``tracing`` (OpenTelemetry).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "history", "watching")
