"""Settings of the watched cluster."""

import re
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import pydantic
from pydantic import PositiveFloat, PositiveInt

from common.settings import Section
from ingest.kubelet.settings import KubeletSettings
from ingest.messages.modes import Redact
from ingest.resources.nodes import NODES
from ingest.resources.resource import ApiResource
from ingest.resources.table import WATCHED

_HOST: Final = r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63}){0,9}|\[[0-9A-Fa-f:.]{2,45}\]"
_SCHEDULER_URL: Final = re.compile(rf"https://({_HOST}):\d{{1,5}}(/|/metrics)?")


class SchedulerSettings(Section):
    """Schedulers whose number of cached nodes is read."""

    urls: tuple[str, ...] = ()
    """`https://host:10259` of each scheduler to ask; empty asks none."""
    ca_file: Path | None = None
    """CA that a scheduler's certificate is checked against; the cluster's CA if not set."""
    insecure: bool = False
    """Skip the check of the scheduler's certificate, although it receives our token."""
    seconds: PositiveFloat = 60.0

    @pydantic.field_validator("urls")
    @classmethod
    def _safe(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        if not all(map(_is_safe, urls)):
            raise ValueError("each is https://HOST:PORT, with or without /metrics: it receives our token")
        return urls


def _is_safe(url: str) -> bool:
    try:
        return _SCHEDULER_URL.fullmatch(url) is not None and bool(urlsplit(url).port)
    except ValueError:  # an invalid address or port
        return False


class ElectionSettings(Section):
    """Leader election: of several watchers of one cluster, only the Lease holder works."""

    enabled: bool = True
    namespace: str | None = None
    """Namespace of the Lease; by default the pod's own, outside of a pod `default`."""
    name: str | None = None
    """Name of the Lease; by default derived from the prefix of the topics."""
    identity: str | None = None
    """Identity of this replica; by default generated. A replica that returns under its own identity takes the Lease
    immediately. Two running replicas must differ.
    """


class LiveSettings(Section):
    cluster: Annotated[str, pydantic.Field(min_length=1, max_length=253)] = "default"
    """Name of the cluster in topics and tables; clusters that share these need different names."""
    kubeconfig: Path | None = None
    """The default is the service account inside a pod, else $KUBECONFIG, else ~/.kube/config."""
    context: str | None = None
    namespace: Annotated[str, pydantic.Field(pattern=r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$")] = ""
    """Watch only pods and Events of this namespace, for accounts that may read nothing else; nodes, kubelets and
    schedulers are then not read. Empty for the whole cluster.
    """
    resources: tuple[str, ...] = tuple(resource.name for resource in WATCHED)
    versions_file: Path | None = None
    """File that keeps the streams' versions across restarts. Without it `watch` keeps them in Kafka."""
    queue_observations: PositiveInt = 2000
    """Number of observations that wait in memory before the sources are slowed down."""
    redact: Redact = "credentials"
    """Redaction: `credentials` removes credentials, `strict` also every text that no known component writes."""
    kubelet: KubeletSettings = KubeletSettings.model_construct()
    scheduler: SchedulerSettings = SchedulerSettings.model_construct()
    election: ElectionSettings = ElectionSettings.model_construct()

    @pydantic.field_validator("resources")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [resource.name for resource in WATCHED]
        if unknown := set(names) - set(known):
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return names

    @property
    def strict(self) -> bool:
        return self.redact == "strict"

    @property
    def watched(self) -> list[ApiResource[Any]]:
        given = [resource for resource in WATCHED if resource.name in self.resources]
        return [resource for resource in given if resource.namespaced or not self.namespace]

    @property
    def schedulers(self) -> tuple[str, ...]:
        """Return the URLs of schedulers to read; none without a watch of nodes, with which their caches are
        compared.
        """
        return self.scheduler.urls if NODES in self.watched else ()

    @property
    def scope(self) -> str:
        """Return the name of the watched scope, because a namespace is another view than the whole cluster."""
        return f"{self.cluster}/{self.namespace}" if self.namespace else self.cluster
