"""The command line: runs statements and prints their results. Data goes to stdout, everything else to
stderr."""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "check", "cluster", "job")
