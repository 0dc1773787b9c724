"""The messages in Slack that `docs/alerts.md` shows: of the alert of a node whose memory runs out."""

import re
from typing import Any, Final

from components.alert_log import GIB, AlertLog, at
from components.rows import row
from leadsman.run.alert import sentences
from leadsman.run.reducers import rules_of
from leadsman.run.settings import Settings
from paths import ROOT
from streams.alerting.receivers.alert_states import Received
from streams.alerting.receivers.pushing import Addresses, slack_message
from streams.fold.findings import Alert, Eviction
from streams.kafka.messages.alerts import message_of

PAGE: Final = "docs/alerts.md"
_BLOCK: Final = re.compile(r"(<!-- generated: messages in Slack -->\n).*?(<!-- end -->)", re.DOTALL)
_NEXT: Final[dict[str, Any]] = {
    "namespace": "shop",
    "pod": "payments-7d9f8c6b5-x2k4q",
    "growth_per_hour": 64 * GIB,
    "signal": "memory.available",
    "room": -100 << 20,
    "seconds_to_threshold": None,
    "meets": "hard",
}
_SITE: Final = "https://leadsman.example.org"
_LINK: Final = Addresses(
    f"{_SITE}/node?cluster=prod-eu&node=worker-17", f"{_SITE}/runbooks/PodsEvicted?cluster=prod-eu&node=worker-17"
)


def slack() -> str:
    """The page with the messages put in."""
    log = AlertLog(rules_of(Settings.model_validate({"page": {"address": _SITE}})), node="worker-17")
    given = {
        "cluster": "prod-eu",
        "node": "worker-17",
        "namespace": "shop",
        "resource": "memory",
        "cause": "pressure",
    }
    left = {"threshold": GIB, "available": 900 << 20}
    log(0, row(Eviction, ts=at(0), pod="cart-66b7c9f5d8-4vn8z", uid="1", **given, **left))
    for seconds in (10, 250):
        log(seconds)
    firing, over = log.emitted
    reported = [_text(firing, sentences(_NEXT, ("ReplicaSet", "payments-7d9f8c6b5"))), _text(over, "")]
    shown = "\n\n".join(reported).replace("\\", "\\\\")
    return _BLOCK.sub(
        rf"\1A firing alert in Slack, and the same alert when it is resolved:\n\n```text\n{shown}\n```\n\2",
        (ROOT / PAGE).read_text("utf-8"),
    )


def _text(alert: Alert, more: str) -> str:
    message: Any = slack_message(Received(message_of(alert), "", alert.updated_at), _LINK, more)
    return str(message["blocks"][0]["text"]["text"])
