"""The site's build, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT


def build(target: Path, configuration: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    """Build the site strictly into the folder ``target``."""
    # Without --quiet, which hides the warnings that strictness counts.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    roots = os.pathsep.join(str(ROOT / name) for name in ("", "engine", "planner", "connectors"))
    return subprocess.run(
        [*command, "--config-file", str(configuration), "--site-dir", str(target)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": roots},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
