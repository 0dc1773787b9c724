"""The zone that the scheduler's node tree files a node under (rules: zone-key)."""

from collections.abc import Mapping
from typing import Final

REGION: Final = "topology.kubernetes.io/region"
ZONE: Final = "topology.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_BETWEEN: Final = ":\0:"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"


def zone_key(labels: Mapping[str, str] | None) -> str:
    """Return region + ":\\0:" + zone, or the empty text where a node has neither.

    A beta label that is present wins over the stable one, even when it is empty.
    """
    labels = labels or {}
    zone = labels.get(_BETA_ZONE, labels.get(ZONE, ""))
    region = labels.get(_BETA_REGION, labels.get(REGION, ""))
    return f"{region}{_BETWEEN}{zone}" if region or zone else ""


def zone_of(key: str) -> str:
    """Return the zone of a zone key, or its region where it has no zone."""
    region, _, zone = key.partition(_BETWEEN)
    return zone or region
