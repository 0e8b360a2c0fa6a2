"""A check that the library for spans is installed."""

from importlib.util import find_spec

from sqlfront_values.errors import OperationalError


def check_tracing() -> None:
    """Raise OperationalError, which names the extra to install, if opentelemetry-api is missing."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.trace") is None:
        raise OperationalError("opentelemetry-api is not installed: pip install 'sqlfront[tracing]'")
