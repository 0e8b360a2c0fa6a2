"""The codec: conversion of plans, settings, errors and batches into bytes and back, for sending between
members.

Expressions, processors and messages are Structs in msgpack, decoded into exactly the expected types. Arrow's
types and schemas are encoded inside them as names or as Arrow IPC (``hooks``, ``values``). A DAG is encoded
as its shape and its processors, both cached from run to run (``dags``); a job's placement is cached, too
(``placements``). Errors keep their class and all their data (``failures``). Batches are Arrow IPC messages
(``batches``), a few rows are values of their columns' types (``rows``). Received data is never unpickled,
except user functions if the caller allows them to run.

For any bytes, decoding gives a value of the expected type or raises OperationalError with the SQLSTATE 08P01:
the sender of malformed bytes is broken or hostile, and its connection has to end.
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
