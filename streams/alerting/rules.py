"""The model of a whole rules file, made of the settings that each alert declares. Defaults are in `defaults.yaml`."""

import re
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import pydantic
import yaml

from streams.alerting import alerts
from streams.alerting.definition import AnyAlert
from streams.alerting.rule_settings import Model, RuleSettings

DEFAULTS: Final = Path(__file__).with_name("defaults.yaml")
PACKAGED: Final[dict[str, Any]] = yaml.load(DEFAULTS.read_text("utf-8"), yaml.CSafeLoader)
_WORD_BEGINS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def module_name(alertname: str) -> str:
    """`ImageGCRestartLoop` is in `image_gc_restart_loop`."""
    return _WORD_BEGINS.sub("_", alertname).lower()


def discover() -> tuple[AnyAlert, ...]:
    """The `ALERT` of each alert's module. Raises ImportError if an alert that has defaults has no module."""
    names = PACKAGED["alerts"]
    found: list[AnyAlert] = [import_module(f"{alerts.__name__}.{module_name(name)}").ALERT for name in names]
    for name, alert in zip(names, found, strict=True):
        if alert.name != name:
            raise ImportError(f"{alerts.__name__}.{module_name(name)} defines {alert.name}, but should define {name}")
    return tuple(found)


ALERTS: Final = discover()


class AlertRules(Model):
    """A whole rules file; `MODEL` is made of it and knows which alerts there are."""

    runbooks: Annotated[str, pydantic.Field(pattern=r"^https?://\S+/$")]
    """Address of the runbooks; each alert's runbook is at its name there."""
    alerts: Model
    """The settings of each alert, by its name."""

    def of(self, alertname: str) -> Any:
        """The settings of an alert, of the type that it declares."""
        settings: RuleSettings = getattr(self.alerts, alertname)
        return settings

    def runbook_url(self, alertname: str) -> str:
        return f"{self.runbooks}{alertname}"


_SETTINGS: Final[dict[str, Any]] = {alert.name: (alert.settings, ...) for alert in ALERTS}
MODEL: Final = pydantic.create_model(
    "AlertRules", __base__=AlertRules, alerts=(pydantic.create_model("Alerts", __base__=Model, **_SETTINGS), ...)
)
ALERT_NAMES: Final = tuple(_SETTINGS)
