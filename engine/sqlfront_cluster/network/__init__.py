"""The network: messages and Arrow bodies between two members, in order, without waiting.

A member sends a message (a tagged :class:`msgspec.Struct`) with a body (buffers of Arrow IPC); the other
member gets both in a call of its :class:`~sqlfront_cluster.network.transport.Receiver`. The interface is
:mod:`.transport`. Two implementations are here; a third, with seeded delays and faults, is part of the
simulation:

* :mod:`.loopback`: members of one process; objects are handed over by reference.
* :mod:`.tcp`: TCP and Unix sockets between processes, to be read bottom up: :mod:`.addresses` (parsing and
  sockets), :mod:`.channels` (bytes, plain or in TLS), :mod:`.frames` (bytes to validated messages),
  :mod:`.handshake` (proof of identity), :mod:`.settlement` (one connection per pair), :mod:`.connection` (a
  peer), :mod:`.attending` (reading by the waiting thread), :mod:`.tcp` (listening, connecting, closing).

Blocking sockets with a reader thread per connection were measured quickest (``benchmarks/network.py``).
Received data is never unpickled, and never decoded as a message before its sender has proven that it knows
the cluster's secret.
"""
