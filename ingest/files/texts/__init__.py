"""Reads texts that people paste: kubelets' logs, and output of `kubectl describe` and `kubectl get`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ingest.files.texts.ages import PrintTime as PrintTime
    from ingest.files.texts.completed import completed_facts as completed_facts
    from ingest.files.texts.exported import event_of_row as event_of_row
    from ingest.files.texts.kubelet_log import is_kubelets_log as is_kubelets_log
    from ingest.files.texts.kubelet_log import without_lines as without_lines
    from ingest.files.texts.logs import Logs as Logs
    from ingest.files.texts.pasted import is_pasted as is_pasted
    from ingest.files.texts.pasted import pasted_parts as pasted_parts
    from ingest.files.texts.scheduler_log import is_schedulers_log as is_schedulers_log

_MODULES: Final = {
    "Logs": "logs",
    "PrintTime": "ages",
    "completed_facts": "completed",
    "event_of_row": "exported",
    "is_kubelets_log": "kubelet_log",
    "is_pasted": "pasted",
    "is_schedulers_log": "scheduler_log",
    "pasted_parts": "pasted",
    "without_lines": "kubelet_log",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    """Import a module at its first use: most dumps have no text, and its patterns take long to compile."""
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
