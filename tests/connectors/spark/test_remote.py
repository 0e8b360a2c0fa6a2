"""The same tests over Spark Connect, in a process of their own."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.programs import assert_passed_over_connect


@pytest.mark.cluster
def test_all_of_it_holds_over_spark_connect() -> None:
    """Its client needs packages that Spark itself doesn't (``pyspark[connect]``)."""
    assert find_spec("grpc") is not None
    folder = Path(__file__).parent
    assert_passed_over_connect(folder / f"test_{name}.py" for name in ("link", "run", "watch", "loading"))
