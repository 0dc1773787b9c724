"""Reads texts that people paste: kubelets' logs, and output of `kubectl describe` and `kubectl get`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ingest.files.texts.ages import Printed
    from ingest.files.texts.completed import completed_facts
    from ingest.files.texts.exported import event_of_row
    from ingest.files.texts.kubelet_log import is_kubelets_log, without_lines
    from ingest.files.texts.logs import Logs
    from ingest.files.texts.pasted import is_pasted, pasted_parts
    from ingest.files.texts.scheduler_log import is_schedulers_log

__all__ = [
    "Logs",
    "Printed",
    "completed_facts",
    "event_of_row",
    "is_kubelets_log",
    "is_pasted",
    "is_schedulers_log",
    "pasted_parts",
    "without_lines",
]
_MODULES: Final = dict(
    zip(
        __all__,
        ("logs", "ages", "completed", "exported", "kubelet_log", "pasted", "scheduler_log", "pasted", "kubelet_log"),
        strict=True,
    )
)


def __getattr__(name: str) -> Any:
    """Import a module at its first use: most dumps have no text, and its patterns take long to compile."""
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
