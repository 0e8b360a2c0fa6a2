"""A server for the built site, on a port of this machine, without a log."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    # Connections that the browser keeps open end with the browser, which ends before the server.
    daemon_threads = False


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A context with the address at which the files of the folder are served."""
    with _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
