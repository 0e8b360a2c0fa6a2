"""The objects in this process by which the tasks of durable jobs read tables."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from sqlfront.jobs.spread_sources import VersionSource

_NONE: Final[Mapping[str, object]] = {}


class JobResources:
    """The objects in this process by which the tasks of running durable jobs read tables: rows of memory
    tables, and versions of spread tables, which the members of the cluster keep as long as the job needs
    them. Safe to use from several threads if each job has one thread at a time."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Mapping[str, object], ExitStack]] = {}

    def keep(self, job: str, resources: Mapping[str, object]) -> None:
        """Keep the objects that the job with the id ``job`` needs until :meth:`release`. ``resources``: the
        objects, each under the key by which the job's DAG finds it. Raises OperationalError, and keeps
        nothing, if a version of a spread table is gone."""
        with ExitStack() as holds:
            for source in resources.values():
                if isinstance(source, VersionSource):
                    source.hold()
                    holds.enter_context(source)
            self._kept[job] = resources, holds.pop_all()

    def __contains__(self, job: str) -> bool:
        return job in self._kept

    def of(self, job: str) -> Mapping[str, object]:
        """Return the objects kept for the job with the id ``job``, each under the key by which the job's DAG
        finds it; an empty mapping if no objects are kept."""
        kept = self._kept.get(job)
        return _NONE if kept is None else kept[0]

    def release(self, job: str) -> None:
        """Let go of the objects kept for the job with the id ``job``, if there are any."""
        kept = self._kept.pop(job, None)
        if kept is not None:
            kept[1].close()
