"""What a person says about the live sources."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import pydantic

from ingest.model.resources import RESOURCES

Seconds: TypeAlias = Annotated[float, pydantic.Field(gt=0)]


class _Settings(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class KubeletSettings(_Settings):
    """How kubelets are asked."""

    access: Literal["proxy", "direct", "off"] = "proxy"
    """Through the API server's node proxy, at the kubelet's own port, or not at all."""
    ca_file: Path | None = None
    """What a kubelet's certificate is checked against with direct access; the cluster's CA where it is not given."""
    insecure: bool = False
    """With direct access: do not check the kubelet's certificate, although our token is sent to it."""
    addresses: dict[str, Annotated[str, pydantic.Field(pattern=r"^.+:\d{1,5}$")]] = {}
    """With direct access: where the kubelets of these nodes are, as `host:port`, whatever their Node says."""
    summary_seconds: Seconds = 10.0
    metrics_seconds: Seconds = 10.0
    configz_seconds: Seconds = 600.0
    in_flight: Annotated[int, pydantic.Field(ge=1)] = 64


class ElectionSettings(_Settings):
    """Of several watchers of one cluster, one works: the one that has the Lease."""

    enabled: bool = True
    namespace: str | None = None
    """Of the Lease; the pod's own where it is not given, outside of a pod `default`."""
    name: str | None = None
    """Of the Lease; made from the prefix of the topics where it is not given."""
    identity: str | None = None
    """Of this replica, made up where it is not given. One that comes back under its own takes the Lease up at once;
    two that run must have different ones.
    """


class LiveSettings(_Settings):
    """Which cluster is watched, and how."""

    cluster: Annotated[str, pydantic.Field(min_length=1, max_length=253)] = "default"
    """Its name in topics and tables; clusters that share them need different ones."""
    kubeconfig: Path | None = None
    """Where it is not given: the service account inside a pod, else $KUBECONFIG, else ~/.kube/config."""
    context: str | None = None
    resources: tuple[str, ...] = tuple(resource.name for resource in RESOURCES)
    versions_file: Path | None = None
    """Where the streams' versions are kept over a restart; without it each start lists anew."""
    queue_observations: Annotated[int, pydantic.Field(ge=1)] = 2000
    """How many observations wait in memory before the sources are slowed down."""
    kubelet: KubeletSettings = KubeletSettings()
    election: ElectionSettings = ElectionSettings()

    @pydantic.field_validator("resources")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [resource.name for resource in RESOURCES]
        if unknown := set(names) - set(known):
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return names
