"""Preloaded by member processes: see :mod:`tests.sqlfront.jobs.gate`. The search for doctests imports this
module, too, in a process without the variable."""

import os

from tests.sqlfront.jobs.gate import GATED, install

if GATED in os.environ:
    install()
