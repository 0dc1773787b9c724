"""Every alert there is: those that `defaults.yaml` names, in its order. A new one needs no line here."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import yaml

from streams.alerting import alerts
from streams.alerting.definition import AnyAlert

DEFAULTS: Final = Path(__file__).with_name("defaults.yaml")
PACKAGED: Final[dict[str, Any]] = yaml.load(DEFAULTS.read_text("utf-8"), yaml.CSafeLoader)
_WORD_BEGINS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def module_name(alertname: str) -> str:
    """`ImageGCRestartLoop` is in `image_gc_restart_loop`."""
    return _WORD_BEGINS.sub("_", alertname).lower()


def discover() -> tuple[AnyAlert, ...]:
    """The `ALERT` of each alert's module. Raises ImportError where an alert that has defaults has no module."""
    names = PACKAGED["alerts"]
    found: list[AnyAlert] = [import_module(f"{alerts.__name__}.{module_name(name)}").ALERT for name in names]
    for name, alert in zip(names, found, strict=True):
        if alert.name != name:
            raise ImportError(f"{alerts.__name__}.{module_name(name)} defines {alert.name}, but should define {name}")
    return tuple(found)


ALERTS: Final = discover()
