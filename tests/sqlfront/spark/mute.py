"""A server that never answers, in a process of its own, which prints its port: it takes ``connections``, or
``calls`` of gRPC."""

import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc  # type: ignore[import-untyped]


class NoAnswers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Every method is known, and none returns."""

    def service(self, handler_call_details: object) -> grpc.RpcMethodHandler:
        """See :class:`grpc.GenericRpcHandler`."""
        return grpc.unary_unary_rpc_method_handler(lambda *_: threading.Event().wait())


def main(takes: str) -> None:
    """Take what comes for ever."""
    if takes == "calls":
        server = grpc.server(ThreadPoolExecutor(8))
        server.add_generic_rpc_handlers((NoAnswers(),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
    else:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    print(port, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
