"""When alerts are raised, and who receives them."""

from pathlib import Path

import pydantic

from common.settings import Section


class AlertSettings(Section):
    """Rules and receivers."""

    rules: Path | None = None
    """Rules of your own as YAML; what it leaves out is as in the packaged streams/alerting/defaults.yaml."""
    to: tuple[pydantic.SecretStr, ...] = ()
    """As `leadsman alert --to`: the address of a webhook can be a secret."""
    webhook_secret: pydantic.SecretStr | None = None
    """With which messages to webhooks are signed."""
