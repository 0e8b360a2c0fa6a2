"""The settings of a cluster, which every session takes over unless it says otherwise. They are a document
that the keeper replicates, so that they outlive the process that has begun the cluster."""

from typing import Final

import msgspec

from sqlfront.cluster.documents import Documents
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_values.errors import OperationalError

#: The key of the document with the settings, in JSON.
SETTINGS: Final = "settings:cluster"


class ClusterSettings(msgspec.Struct, frozen=True):
    """The settings of a cluster. ``backups``: the number of backups, 0 to 2, of a new memory table that says
    nothing about backups and can't be loaded again from a source; None = one."""

    backups: int | None = None


DEFAULT_CLUSTER_SETTINGS: Final = ClusterSettings()


def begin_with(running: RunningMember, settings: ClusterSettings) -> None:
    """Give the cluster its settings, unless it has some; called by the process that begins the cluster, when
    its members have joined. ``running``: a member or client of the cluster. Raises OperationalError if the
    keeper doesn't answer."""
    if settings != DEFAULT_CLUSTER_SETTINGS:
        Documents(running.membership).put(ConditionalChange(SETTINGS, msgspec.json.encode(settings), 0))


def settings_of(documents: Documents) -> ClusterSettings:
    """Return the settings of the cluster. Raises OperationalError for a document of another form."""
    document = documents.get(SETTINGS)
    if document is None:
        return DEFAULT_CLUSTER_SETTINGS
    try:
        return msgspec.json.decode(document.content, type=ClusterSettings)
    except msgspec.MsgspecError as error:
        raise OperationalError(f"the settings of the cluster can't be read: {error}") from error
