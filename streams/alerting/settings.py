"""When alerts are raised, and who receives them."""

from pathlib import Path
from typing import Annotated, Final, Self

import pydantic

from common.settings import Section

PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"
SLACK: Final = "https://slack.com/api"


class AlertSettings(Section):
    rules: Path | None = None
    """Your rules as YAML; settings that it omits have the defaults of streams/alerting/defaults.yaml."""
    to: tuple[pydantic.SecretStr, ...] = ()
    """Receivers, like `leadsman alert --to`: the address of a webhook can be a secret."""
    webhook_secret: pydantic.SecretStr | None = None
    """Secret that signs messages to webhooks."""
    pagerduty_url: Annotated[str, pydantic.Field(pattern=r"^https?://\S+$")] = PAGERDUTY
    """Address of PagerDuty's events API; accounts of its EU region have another."""
    slack_token: pydantic.SecretStr | None = None
    """Bot token for Slack channels, with the scopes chat:write and channels:history."""
    slack_token_file: Path | None = None
    """File with the bot token, instead of `slack_token`; it is read at start."""
    slack_url: Annotated[str, pydantic.Field(pattern=r"^https?://\S+$")] = SLACK
    """Address of Slack's Web API; GovSlack has another."""

    @pydantic.model_validator(mode="after")
    def _one_token(self) -> Self:
        if self.slack_token and self.slack_token_file:
            raise ValueError("slack_token and slack_token_file exclude each other")
        return self
