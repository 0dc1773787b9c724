"""Names the incident of an alert, by which receivers group alerts."""

import hashlib

from streams.kafka.messages.alerts import AlertMessage
from streams.rules.eviction.shortage import FAMILIES


def incident_of(alert: AlertMessage) -> str:
    """Return the incident of an alert: that of its node and scarce resource, or its own."""
    labels = alert.labels
    family = FAMILIES.get(labels.get("resource") or labels.get("condition", ""), "")
    if not family or not labels.get("node") or labels.get("cause", "pressure") != "pressure":
        return alert.fingerprint
    return digest(labels.get("cluster", ""), labels["node"], family)


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits for these texts in this order."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
