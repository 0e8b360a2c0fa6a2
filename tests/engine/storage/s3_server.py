"""A server of S3's protocol on this machine (moto), in a process of its own, so that it outlives clients that
are killed::

    with s3_server() as server:
        server.bucket("jobs")      # clients find the server by the variables of server.environment
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec


class S3Server(msgspec.Struct, frozen=True):
    """A running server."""

    port: int

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which clients find the server, and may use it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """A server that runs within the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engine.storage.s3_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        assert process.stdout is not None
        try:
            yield S3Server(int(process.stdout.readline()))
        finally:
            process.kill()


def one_at_a_time(app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The application with a lock: moto looks for an object first and creates it then."""
    lock = threading.Lock()

    def locked(environment: Any, start: Any) -> Iterable[bytes]:
        with lock:
            return list(app(environment, start))

    return locked


def main() -> None:
    """Serve until the process is killed; print the port first."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    WSGIRequestHandler.log_request = lambda *_: None
    app = one_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
