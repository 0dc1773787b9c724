"""When alerts are raised, and who receives them."""

from pathlib import Path
from typing import Annotated, Final

import pydantic

from common.settings import Section

PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"


class AlertSettings(Section):
    rules: Path | None = None
    """Your rules as YAML; settings that it omits are those of the packaged streams/alerting/defaults.yaml."""
    to: tuple[pydantic.SecretStr, ...] = ()
    """Receivers, like `leadsman alert --to`: the address of a webhook can be a secret."""
    webhook_secret: pydantic.SecretStr | None = None
    """Secret that signs messages to webhooks."""
    pagerduty_url: Annotated[str, pydantic.Field(pattern=r"^https?://\S+$")] = PAGERDUTY
    """Address of PagerDuty's events API; accounts of its EU region have another."""
