"""A launcher of a cluster of child processes on this machine; the keeper runs in this process."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from sqlfront_cluster.launchers.child import ChildOrders
from sqlfront_cluster.launchers.handover_rules import DEFAULT_RULES, HandoverRules
from sqlfront_cluster.launchers.keeper_office import HeldOffice
from sqlfront_cluster.launchers.running import (
    JOIN_TIMEOUT,
    KeptCluster,
    MemberOptions,
    network_settings,
)
from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.keeper.keeper_settings import KeeperSettings
from sqlfront_cluster.members.keeper.tenure import ONLY_KEEPER
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES
from sqlfront_cluster.members.protocol.keeper_names import KEEPER
from sqlfront_cluster.network.addresses import LONGEST_FOLDER, Address, check_reachable
from sqlfront_cluster.network.tcp import TcpTransport
from sqlfront_cluster.network.tls.contexts import TlsSettings
from sqlfront_cluster.network.tls.security import Security
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.scheduler import SystemClock
from sqlfront_values.errors import OperationalError

#: Seconds in which a process has to end by itself before it is killed: the user's program waits so long at
#: its exit.
STOP_TIMEOUT: Final = 5.0


class LocalCluster(KeptCluster):
    """A cluster of ``size`` members, each in a process of its own, ready when the constructor returns.

    Members and keeper communicate over Unix sockets; over TCP if ``tcp`` is true or ``keeper_address`` is a
    TCP address. The members' TCP addresses have the host of ``keeper_address``, without it 127.0.0.1. Members
    and clients must prove that they know ``secret`` (None: made for this cluster); the members get it through
    a pipe. TCP connections are encrypted with the certificates ``tls``, or with certificates made from the
    secret, unless ``insecure``. The members end with this process, however it ends; with an
    ``office``, one of them becomes the keeper if this process ends without :meth:`close`, or doesn't answer;
    then ``on_superseded`` is called if this process still lives.

    ``workers``: threads of each member that run tasklets, None = one per core. ``memory_limit``: bytes for
    the jobs of each member, None = six tenths of the machine's memory. ``silence_limit``: seconds after which
    a silent member is removed; the default is long because other Python code in this process can delay the
    keeper. ``files``: the files that members may open. ``user_code``: whether members run functions that
    clients send. ``processor_modules``: modules whose processors members run anyway. ``preload``: modules
    that each member imports, which register processors. ``service``: ``module:function`` of the function that
    makes a member's service, empty = no service. ``settings``: returns, for a member's number from 0 on, the
    keyword arguments of that function. ``handover``: the bounds of the handover of a member that gets
    SIGTERM. Raises OperationalError, with the last lines of the member's log, if a member can't be
    started.
    """

    def __init__(
        self,
        size: int,
        *,
        workers: int | None = None,
        memory_limit: int | None = None,
        tcp: bool = False,
        keeper_address: str | None = None,
        silence_limit: float = 30.0,
        preload: Sequence[str] = (),
        service: str = "",
        settings: Callable[[int], Mapping[str, str]] = lambda number: {},
        secret: bytes | None = None,
        files: FileAccess = EVERYWHERE,
        user_code: bool = False,
        processor_modules: Sequence[str] = (),
        tls: TlsSettings | None = None,
        insecure: bool = False,
        office: HeldOffice | None = None,
        on_superseded: Callable[[], None] = lambda: None,
        handover: HandoverRules = DEFAULT_RULES,
    ) -> None:
        super().__init__()
        self.secret = secrets.token_bytes(32) if secret is None else secret
        #: The secret and encryption of the cluster.
        self.security = Security(self.secret, tls, insecure)
        #: The members' processes, by name, including ended ones.
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        #: The folder of the members' sockets and logs.
        self.folder = Path(tempfile.mkdtemp(prefix="sqlfront-"))
        keeper = None if keeper_address is None else Address.parse(keeper_address)
        self._host = "127.0.0.1" if keeper is None or keeper.path is not None else keeper.host
        self._tcp = (
            tcp
            or (keeper is not None and keeper.path is None)
            or len(os.fsencode(self.folder)) > LONGEST_FOLDER
        )
        self._preload, self._service, self._settings = tuple(preload), service, settings
        self._options = MemberOptions(
            "",
            "",
            "",
            workers,
            memory_limit,
            silence_limit,
            files,
            user_code,
            tuple(processor_modules),
            handover=handover,
            office="" if office is None else str(office.folder.absolute()),
        )
        self._watchers: list[threading.Thread] = []
        self._started = 0
        self._closing = self._abandoned = False
        self._clock = SystemClock()
        try:
            if self._tcp:
                check_reachable(Address(self._host))
                self.security = self.security.with_certificates()
            transport = TcpTransport(
                network_settings(self.security),
                MESSAGES,
                listen=[keeper_address or self._address(KEEPER)],
                name=KEEPER,
            )
            self.address = transport.addresses[0]
            self.keeper = Keeper(
                transport,
                self._clock,
                KeeperSettings(silence_limit),
                on_list=self._notify,
                tenure=ONLY_KEEPER if office is None else office,
                on_superseded=on_superseded,
            )
            self.add(size)
        except BaseException:
            self.close()
            raise

    def _address(self, name: str) -> str:
        return str(Address(self._host)) if self._tcp else f"unix:{self.folder / name}"

    # ---- members

    def add(self, size: int) -> tuple[str, ...]:
        """Start ``size`` more members, and wait until all have joined; returns their names. Raises
        OperationalError, with the last lines of the member's log, if a member ends or doesn't join within
        :data:`JOIN_TIMEOUT` seconds."""
        names = tuple(self._start() for _ in range(size))
        with self._changed:
            in_time = self._changed.wait_for(
                lambda: all(name in self.members or self._dead(name) for name in names), JOIN_TIMEOUT
            )
        for name in names:
            if name not in self.members:
                state = "ended" if in_time else f"has not joined within {JOIN_TIMEOUT:g} s"
                raise OperationalError(f"member {name} {state}; its log ends with\n{self.log(name)[-2000:]}")
        return names

    def _dead(self, name: str) -> bool:
        return self.processes[name].poll() is not None

    def _start(self) -> str:
        number = self._started
        name = f"local-{number}"
        self._started += 1
        options = msgspec.structs.replace(
            self._options, name=name, keeper=self.address, listen=self._address(name)
        )
        orders = ChildOrders(options, self.security, self._preload, self._service, self._settings(number))
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "sqlfront_cluster.launchers.child"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C is for the launcher alone
            )
        self.processes[name] = process
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(orders) + b"\n")
        process.stdin.flush()
        watcher = threading.Thread(target=self._watch, args=(name, process), name=f"sqlfront-watch-{name}")
        watcher.daemon = True
        watcher.start()
        self._watchers.append(watcher)
        return name

    def _watch(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Wait for the end of the process of the member ``name``, and report it to the keeper, so that the
        member is removed before the silence limit."""
        code = process.wait()
        if not self._closing:
            how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
            self.keeper.remove(name, f"its process ended with {how}")
        self._notify()

    def log(self, name: str) -> str:
        """Return the text that the member ``name`` has logged so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    # ---- the end

    def abandon(self) -> None:
        """End the keeper here and leave the members to the keeper that has followed it."""
        self._closing = self._abandoned = True
        self.keeper.resign()

    def close(self) -> None:
        """End all members and the keeper, and remove the cluster's files; a second call is no error."""
        if self._abandoned:
            return
        self._closing = True
        if hasattr(self, "keeper"):
            self.keeper.end("its launcher was stopped")
        for name, process in self.processes.items():
            assert process.stdin is not None
            process.stdin.close()
            if self._options.office and not (hasattr(self, "keeper") and name in self.members):
                process.terminate()  # it neither hears the keeper nor waits for the end of its input
        for process in self.processes.values():
            try:
                process.wait(STOP_TIMEOUT if not _stopped(process.pid) else 0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for watcher in self._watchers:
            watcher.join()
        if hasattr(self, "keeper"):
            self.keeper.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _stopped(process: int) -> bool:
    """Return whether the process with this id is paused by a signal (SIGSTOP), so that it can't end by
    itself."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False
