"""The zone that the scheduler's node tree files a node under (rules: zone-key)."""

from ingest.model.objects.node import NodeLabels


def zone_key(labels: NodeLabels | None) -> str:
    """Return region + ":\\0:" + zone, or the empty text where a node has neither.

    A beta label that is present wins over the stable one, even when it is empty.
    """
    if labels is None:
        return ""
    zone = _present(labels.beta_zone, labels.zone)
    region = _present(labels.beta_region, labels.region)
    return f"{region}:\0:{zone}" if region or zone else ""


def _present(beta: str | None, stable: str | None) -> str:
    return beta if beta is not None else stable or ""
