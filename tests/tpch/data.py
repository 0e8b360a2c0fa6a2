"""The tables of TPC-H as Parquet files, generated once and kept beside this file (never committed)."""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

#: Each table and the key it is clustered by in memory.
TABLES = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey",
}
SCALE = "0.1"

_CACHE = Path(__file__).parent / ".cache"


def tpch_folder(scale: str = SCALE) -> Path:
    """The folder with one `<table>.parquet` for each table at that scale; generates it if it isn't there.

    The generator (the PyPI package tpchgen-cli) gives the very rows of TPC-H's own dbgen, so that the answers
    don't depend on its version. Several processes may ask at once: the first one to finish wins.
    """
    folder = _CACHE / f"scale-{scale}"
    if folder.exists():
        return folder
    _CACHE.mkdir(exist_ok=True)
    (_CACHE / ".gitignore").write_text("*\n")
    fresh = Path(tempfile.mkdtemp(prefix="generating-", dir=_CACHE))
    try:
        generator = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
        subprocess.run([generator, "parquet", "-q", "-s", scale, "-o", fresh], check=True)
        _publish(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _publish(fresh: Path, folder: Path) -> None:
    try:
        os.rename(fresh, folder)
    except OSError:
        # Another process has published the same files in the meantime.
        if not folder.exists():
            raise
