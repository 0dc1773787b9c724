"""The model of a whole rules file, made of the settings that each alert declares. Defaults are in `defaults.yaml`."""

from typing import Annotated, Any, Final

import pydantic

from streams.alerting.registry import ALERTS
from streams.alerting.rule_settings import Model, RuleSettings


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
