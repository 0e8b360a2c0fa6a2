"""Metrics for Prometheus, served by HTTP while a session or a member is open.

``tallies`` counts statements; ``collector`` makes the metrics at each scrape, from the tallies and from
engines and members; ``endpoint`` serves the metrics. Only the last two need prometheus-client (extra
``metrics``).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "collector")
