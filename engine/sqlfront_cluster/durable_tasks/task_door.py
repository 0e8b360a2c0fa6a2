"""A member's service for tasks of durable jobs that loads the modules for its answers with the first
question."""

from threading import Lock
from typing import TYPE_CHECKING, Final

from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.members.requests import RequestService
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_cluster.durable_tasks import task_service
else:
    task_service = lazy_module("sqlfront_cluster.durable_tasks.task_service")

#: The name of the service.
TASKS: Final = "durable tasks"


class TaskDoor(RequestService):
    """A member's service for the tasks of durable jobs. It answers by a
    :class:`~sqlfront_cluster.durable_tasks.task_service.TaskService`, whose module is loaded when the first
    question comes."""

    def __init__(self) -> None:
        self._running: RunningMember
        self._lock = Lock()
        self._service: task_service.TaskService | None = None

    def attach(self, running: RunningMember) -> None:
        """Set the member on whose engine tasks will run, and begin the leases of coordinators that leave the
        cluster; needed before the first question."""
        self._running = running
        running.membership.list_watchers.append(self._keep_present)

    def answer(self, content: bytes) -> bytes:
        """Decode a question about tasks, act on it, and return the encoded answer. Raises OperationalError
        for a task or a run that this member doesn't know."""
        with self._lock:
            if self._service is None:
                self._service = task_service.TaskService(self._running.engine)
        return self._service.answer(content)

    def _keep_present(self) -> None:
        if self._service is not None:
            self._service.keep_present(self._running.member.members.__contains__)
