"""A process that coordinates an endless job until it is killed: a client, or with an address a member.

python -m tests.cluster.launchers.coordinating KEEPER SECRET NAME [ADDRESS]
"""

import sys

from sqlfront_cluster.launchers.running import MemberOptions, RunningMember
from sqlfront_cluster.network.tls.security import Security
from tests.cluster.launchers.test_local import exchanged
from tests.cluster.members.cluster import Endless


def main(keeper: str, secret: str, name: str, address: str = "") -> None:
    options = MemberOptions(name, keeper, address, workers=1, silence_limit=2.0)
    running = RunningMember(options, Security(bytes.fromhex(secret)))
    reader = running.member.submit(exchanged(Endless())).batches()
    next(reader)
    print("running", flush=True)
    for _ in reader:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
