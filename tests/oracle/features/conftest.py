"""The scenarios need pytest-bdd and pysail: only the pytest of :mod:`tests.oracle.features.report` collects
them."""

import os

collect_ignore = [] if "SQLFRONT_FEATURES" in os.environ else ["scenarios.py"]
