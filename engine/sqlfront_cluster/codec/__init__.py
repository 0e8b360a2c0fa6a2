"""Everything that travels between members, as data: what goes in are plans, settings, errors and batches,
what comes out are bytes, and back.

Expressions, processors and messages are Structs in msgpack, read into exactly the types that are expected;
Arrow's types and schemas travel inside them as names or as Arrow IPC (``hooks``, ``values``); a DAG is sent
as its shape and its processors, both remembered from run to run (``dags``), and so is who does what in a job
(``placements``); errors keep their class and all that they know (``failures``); batches are Arrow IPC
messages (``batches``), a few rows values of their columns' types (``rows``). Nothing from a peer is
unpickled, except user functions where the caller says that they may run.

Whatever the bytes, decoding gives a value of the expected type or raises OperationalError with the SQLSTATE
08P01: a peer that sends such bytes is broken or hostile, and its connection has to end.
"""

from sqlfront_cluster.codec.batches import BatchDecoder, BatchEncoder, EncodedBatch
from sqlfront_cluster.codec.dags import decode_dag, encode_dag
from sqlfront_cluster.codec.failures import ErrorData
from sqlfront_cluster.codec.hooks import decode_hook, encode_hook, trusting_decode_hook
from sqlfront_cluster.codec.values import decode, encode

__all__ = [
    "BatchDecoder",
    "BatchEncoder",
    "EncodedBatch",
    "ErrorData",
    "decode",
    "decode_dag",
    "decode_hook",
    "encode",
    "encode_dag",
    "encode_hook",
    "trusting_decode_hook",
]
