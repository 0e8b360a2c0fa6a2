"""The scenarios as tests, for the pytest that :mod:`tests.oracle.features.report` runs; no other pytest
collects this file."""

import importlib.resources
import os
from pathlib import Path

from pytest_bdd import scenarios

FOLDER = Path(str(importlib.resources.files("pysail") / "tests" / "spark" / "function" / "features"))

for each in sorted(FOLDER.rglob("*.feature")):
    if each.relative_to(FOLDER).as_posix().startswith(os.environ["SQLFRONT_FEATURES"]):
        scenarios(str(each))
