"""A member's service for tasks of durable jobs, which loads the modules that it needs for its answers when
the first question comes."""

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.members.questions.requests import RequestService
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_cluster.durable_tasks import member_disk, output_places, task_service
else:
    member_disk = lazy_module("sqlfront_cluster.durable_tasks.member_disk")
    output_places = lazy_module("sqlfront_cluster.durable_tasks.output_places")
    task_service = lazy_module("sqlfront_cluster.durable_tasks.task_service")

#: The name of the service.
TASKS: Final = "durable tasks"


class TaskDoor(RequestService):
    """A member's service for the tasks of durable jobs. The answers are those of a
    :class:`~sqlfront_cluster.durable_tasks.task_service.TaskService`, whose module is loaded when the first
    question comes, so that members without durable jobs start without it."""

    def __init__(self) -> None:
        self._running: RunningMember
        self._lock = Lock()
        self._service: task_service.TaskService | None = None

    def attach(self, running: RunningMember) -> None:
        """Set the member whose engine runs the tasks, and watch its member list from now on: when a
        coordinator leaves the cluster, its lease begins, the time for which its tasks go on without it. To be
        called before the first question comes."""
        self._running = running
        running.membership.list_watchers.append(self._keep_present)

    def answer(self, content: bytes) -> bytes:
        """Decode a question about tasks, act on it, and return the encoded answer. Raises OperationalError
        for bytes that are no question, for a job that this member doesn't know, and for a question of a
        coordinator that has a successor."""
        with self._lock:
            if self._service is None:
                self._service = self._opened()
        return self._service.answer(content)

    def _opened(self) -> "task_service.TaskService":
        member = self._running.member
        network = output_places.OutputNetwork(
            partial(member.requests.ask, TASKS), lambda: self._running.member.members
        )
        disk = member_disk.MemberDisk(member.name)
        return task_service.TaskService(self._running.engine, output_places.OutputPlaces(network, disk))

    def close(self) -> None:
        """Remove the outputs on this member's disk; called when the member ends."""
        if self._service is not None:
            self._service.close()

    def _keep_present(self) -> None:
        if self._service is not None:
            self._service.keep_present(self._running.member.members.__contains__)
