"""The statements of a session, as operators see them: ``sys.queries``, log lines, metrics and spans.

A session whose configuration (:class:`~sqlfront.config.Config`) asks for one of these has an observer; other
sessions have no observer, and do no work for one. Each statement has one observation, a record of its facts.
The observer passes the observation to every watcher twice: when the statement begins, and when it has ended:
its last row was given, its result was closed, or it has failed.

Reading order: ``observation`` (a statement's facts), ``account`` (counts the rows that a result gives),
``masking`` (texts without literals), ``observer`` (calls the watchers), ``watching`` (makes a session's
watchers); then the watchers: ``history`` (``sys.queries``), ``statement_log`` (loggers), ``metrics``
(Prometheus), ``tracing`` (OpenTelemetry).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "history", "watching")
