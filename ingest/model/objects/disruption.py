"""A PodDisruptionBudget, with the fields that the eviction API reads (rules: drain)."""

from ingest.model.numbers import Int32, Int64
from ingest.model.objects.base import KeptObject
from ingest.model.objects.pod import LabelSelector
from ingest.model.objects.storage import ScheduledMetadata


class _Metadata(ScheduledMetadata, frozen=True):
    generation: Int64 = 0


class _Spec(KeptObject, frozen=True):
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class _Status(KeptObject, frozen=True):
    observed_generation: Int64 = 0
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    disrupted_pods: dict[str, str] | None = None
    """Pods whose eviction was granted and not observed yet, each with the time."""


class PodDisruptionBudget(KeptObject, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()
