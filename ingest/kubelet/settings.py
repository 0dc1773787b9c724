"""Settings of the requests to kubelets."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import pydantic
from pydantic import PositiveFloat, PositiveInt

from common.settings import Section
from ingest.resources.kubelet import CONFIGZ, METRICS
from ingest.resources.stats_summary import STATS_SUMMARY
from ingest.resources.table import POLLED

Address: TypeAlias = Annotated[str, pydantic.Field(pattern=r"^.+:\d{1,5}$")]
"""`host:port`."""


class KubeletSettings(Section):
    """Settings for access to kubelets, and for the intervals between requests."""

    access: Literal["direct", "proxy", "off"] = "direct"
    """Access at the kubelet's own port, through the API server's node proxy, or not at all. A user of the proxy can
    also run commands in every pod.
    """
    ca_file: Path | None = None
    """CA that a kubelet's certificate is checked against; the cluster's CA if not set."""
    insecure: bool = False
    """If direct access is used, skip the check of the kubelet's certificate, although it receives our token."""
    addresses: dict[str, Annotated[str, pydantic.Field(pattern=r"^.+:\d{1,5}$")]] = pydantic.Field(
        default_factory=dict
    )
    """If direct access is used, addresses of these nodes' kubelets, in place of the Node's."""
    summary_seconds: PositiveFloat = STATS_SUMMARY.seconds
    metrics_seconds: PositiveFloat = METRICS.seconds
    configz_seconds: PositiveFloat = CONFIGZ.seconds
    in_flight: PositiveInt = 64

    def seconds(self) -> dict[str, float]:
        """Return the seconds between two answers, by resource."""
        named = {
            STATS_SUMMARY.name: self.summary_seconds,
            METRICS.name: self.metrics_seconds,
            CONFIGZ.name: self.configz_seconds,
        }
        return {resource.name: named.get(resource.name, resource.seconds) for resource in POLLED}
