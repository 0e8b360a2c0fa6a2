"""TLS between members: who is let in, who is told what, and what certificates have to be."""

import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from sqlfront_cluster.network.line import Line
from sqlfront_cluster.network.tls import authority
from sqlfront_cluster.network.tls.contexts import TlsSettings
from sqlfront_cluster.network.transport import Peer, UnconnectedPeer
from sqlfront_values.errors import OperationalError
from tests.cluster.network.meeting import SECRET, TYPES, Member, Note, Town, certificates, settings, until


def test_members_meet_by_certificates_that_the_secret_makes(town: Town) -> None:
    (_, a), (_, b) = town.pair(insecure=False)
    a.peer("b").send(Note(1))
    b.wait_for(messages=1)


def test_a_line_does(town: Town) -> None:
    there, b = town.member("b", insecure=False)
    line = Line(settings(insecure=False), TYPES, there.addresses[0], "outside", 10.0)
    line.send(Note(1), (bytes(1_000_000),))
    b.wait_for(messages=1)
    line.close()


def test_unix_sockets_need_no_certificate(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authority, "issue", None)
    there, _ = town.member("b", listen=f"unix:{town.folder}/b", insecure=False)
    here, a = town.member("a", listen=None, insecure=False)
    here.connect(there.addresses[0])
    a.peer("b")


class Refusal(Member):
    """Writes down whether those who can't be reached were said to have refused."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[bool] = []

    def disconnected(self, peer: Peer, reason: str) -> None:
        self.refused.append(isinstance(peer, UnconnectedPeer) and peer.refused)
        super().disconnected(peer, reason)


@pytest.mark.parametrize(
    ("theirs", "ours", "reason"),
    [
        (
            {"insecure": False},
            {"insecure": False, "secret": b"a guess"},
            "this side does not trust the certificate of the other side",
        ),
        ({"insecure": False}, {"insecure": True}, "the other side speaks TLS, and this side is insecure"),
        ({"insecure": True}, {"insecure": False}, "the other side speaks no TLS"),
        ({"insecure": True}, {"insecure": True, "secret": b"a guess"}, "different secrets"),
        (
            {"tls": certificates(b"x")},
            {"insecure": False},
            "this side does not trust the certificate of the other side",
        ),
        (
            {"insecure": False},
            {"tls": msgspec.structs.replace(certificates(b"x"), authority=certificates().authority)},
            "the other side doesn't trust this side's certificate",
        ),
    ],
    ids=["secret", "insecure-client", "insecure-member", "plain-secret", "authority", "client-certificate"],
)
def test_who_does_not_belong_is_told_at_once_and_for_good(
    town: Town, theirs: dict[str, object], ours: dict[str, object], reason: str
) -> None:
    there, b = town.member("b", **theirs)  # type: ignore[arg-type]
    here, member = town.transport("a", listen=None, **ours), Refusal()
    here.start(member)
    here.connect(there.addresses[0])
    assert reason in member.lost(there.addresses[0])
    assert member.refused == [True]
    until(lambda: there.statistics().refused == 1)
    assert b.events == []
    with pytest.raises(OperationalError, match="no connection with the member"):
        Line(settings(**ours), TYPES, there.addresses[0], "outside", 10.0)


@pytest.mark.parametrize("expired", ["here", "there"])
def test_that_a_certificate_has_expired_is_said(
    town: Town, monkeypatch: pytest.MonkeyPatch, expired: str
) -> None:
    good = certificates()
    monkeypatch.setattr(authority, "_LIFE", timedelta(days=-1))
    tls = {"here": good, "there": good, expired: structs.replace(certificates(), authority=good.authority)}
    there, _ = town.member("b", tls=tls["there"])
    here, member = town.transport("a", listen=None, tls=tls["here"]), Refusal()
    here.start(member)
    here.connect(there.addresses[0])
    reason = member.lost(there.addresses[0])
    assert "has expired" in reason and "different" not in reason


def test_who_is_not_there_may_come(town: Town) -> None:
    here, member = town.transport("a", listen=None), Refusal()
    here.start(member)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    here.connect(address)
    member.lost(address)
    assert member.refused == [False]


# ---- certificates


def written(folder: Path, tls: TlsSettings) -> list[Path]:
    """Files of the certificate, its key and the authority."""
    made = []
    for name in ("certificate", "key", "authority"):
        made.append(folder / f"{name}.pem")
        made[-1].write_text(getattr(tls, name))
    return made


def test_certificates_come_from_files(tmp_path: Path) -> None:
    tls = certificates()
    assert TlsSettings.read(*written(tmp_path, tls)) == tls
    assert "PRIVATE" not in repr(tls)


@pytest.mark.parametrize("name", ["certificate", "key", "authority"])
def test_a_file_that_is_not_there_or_holds_something_else_is_named(tmp_path: Path, name: str) -> None:
    files = written(tmp_path, certificates())
    (tmp_path / f"{name}.pem").write_text("nothing of the kind")
    with pytest.raises(OperationalError, match=rf"can't be used for TLS: .*{name}.pem"):
        TlsSettings.read(*files)
    (tmp_path / f"{name}.pem").unlink()
    with pytest.raises(OperationalError, match=rf"{name}.pem can't be read"):
        TlsSettings.read(*files)


def test_the_key_must_belong_to_the_certificate(tmp_path: Path) -> None:
    files = written(tmp_path, msgspec.structs.replace(certificates(), key=certificates().key))
    with pytest.raises(OperationalError, match=r"(?i)key.values.mismatch"):
        TlsSettings.read(*files)


def test_a_key_with_a_password_is_refused_instead_of_asked_for(tmp_path: Path) -> None:
    files = written(tmp_path, certificates())
    locked = tmp_path / "locked.pem"
    command = ["openssl", "pkcs8", "-topk8", "-in", str(files[1]), "-out", str(locked), "-passout", "pass:x"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    with pytest.raises(OperationalError, match="key of the TLS certificate is encrypted"):
        TlsSettings.read(files[0], locked, files[2])


def test_the_same_secret_makes_the_same_authority_and_another_one_another() -> None:
    keys = {issued.certificate for issued in (certificates(), certificates())}
    assert len(keys) == 2, "every member has a key of its own"
    assert authority._key_of(SECRET).private_numbers() == authority._key_of(SECRET).private_numbers()
    assert authority._key_of(SECRET).private_numbers() != authority._key_of(b"x").private_numbers()


def test_without_cryptography_the_ways_out_are_named() -> None:
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from sqlfront_cluster.launchers.local import LocalCluster\n"
        "from sqlfront_values.errors import OperationalError\n"
        "try:\n    LocalCluster(1, tcp=True)\n"
        "except OperationalError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    for way in ("sqlfront[cluster]", "certificate", "insecure"):
        assert way in done.stdout
