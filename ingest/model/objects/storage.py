"""Claims, volumes and their attachments, with the fields that the scheduler reads (rules: scheduler-volumes)."""

from datetime import datetime

import msgspec

from ingest.model.numbers import Int32
from ingest.model.objects.base import KeptObject, ResourceList
from ingest.model.objects.pod import LabelSelector, MatchExpression, Present, RequiredNodeAffinity


class StorageAnnotations(KeptObject, frozen=True, rename=None):
    """Annotations of claims, volumes and classes that a rule reads."""

    storage_class: str | None = msgspec.field(default=None, name="volume.beta.kubernetes.io/storage-class")
    bind_completed: str | None = msgspec.field(default=None, name="pv.kubernetes.io/bind-completed")
    selected_node: str | None = msgspec.field(default=None, name="volume.kubernetes.io/selected-node")
    default_class: str | None = msgspec.field(default=None, name="storageclass.kubernetes.io/is-default-class")


class _Owner(KeptObject, frozen=True):
    uid: str = ""
    controller: bool | None = None


class ScheduledMetadata(KeptObject, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: datetime | None = None
    owner_references: list[_Owner] | None = None

    @property
    def controller(self) -> str:
        """Return the uid of its controller; empty if it has none."""
        return next((each.uid for each in self.owner_references or () if each.controller), "")


class StorageMetadata(ScheduledMetadata, frozen=True):
    annotations: StorageAnnotations | None = None
    labels: dict[str, str] | None = None


class _Requests(KeptObject, frozen=True):
    requests: ResourceList | None = None


class _Phase(KeptObject, frozen=True):
    phase: str = ""


class PersistentVolumeClaimSpec(KeptObject, frozen=True):
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    access_modes: list[str] | None = None
    resources: _Requests | None = None
    selector: LabelSelector | None = None
    volume_attributes_class_name: str = ""


class PersistentVolumeClaim(KeptObject, frozen=True):
    metadata: StorageMetadata
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: _Phase = _Phase()


class _ClaimRef(KeptObject, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _Csi(KeptObject, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class _VolumeNodeAffinity(KeptObject, frozen=True):
    required: RequiredNodeAffinity | None = None


class _PersistentVolumeSpec(KeptObject, frozen=True):
    capacity: ResourceList | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    access_modes: list[str] | None = None
    claim_ref: _ClaimRef | None = None
    node_affinity: _VolumeNodeAffinity | None = None
    volume_attributes_class_name: str = ""
    csi: _Csi | None = None
    aws_elastic_block_store: Present | None = None
    azure_disk: Present | None = None
    azure_file: Present | None = None
    cinder: Present | None = None
    gce_persistent_disk: Present | None = None
    portworx_volume: Present | None = None
    vsphere_volume: Present | None = None


class PersistentVolume(KeptObject, frozen=True):
    metadata: StorageMetadata
    spec: _PersistentVolumeSpec = _PersistentVolumeSpec()
    status: _Phase = _Phase()


class _LabelValues(KeptObject, frozen=True):
    key: str
    values: list[str] | None = None

    @property
    def expression(self) -> MatchExpression:
        return MatchExpression(key=self.key, operator="In", values=self.values)


class _Topology(KeptObject, frozen=True):
    match_label_expressions: list[_LabelValues] | None = None


class StorageClass(KeptObject, frozen=True):
    metadata: StorageMetadata
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[_Topology] | None = None


class _Limit(KeptObject, frozen=True):
    count: Int32 | None = None


class _NodeDriver(KeptObject, frozen=True):
    name: str
    allocatable: _Limit | None = None


class _CSINodeSpec(KeptObject, frozen=True):
    drivers: list[_NodeDriver] | None = None


class CSINode(KeptObject, frozen=True):
    metadata: StorageMetadata
    spec: _CSINodeSpec = _CSINodeSpec()


class _CSIDriverSpec(KeptObject, frozen=True):
    storage_capacity: bool | None = None


class CSIDriver(KeptObject, frozen=True):
    metadata: StorageMetadata
    spec: _CSIDriverSpec = _CSIDriverSpec()


class _AttachmentSource(KeptObject, frozen=True):
    persistent_volume_name: str = ""


class _VolumeAttachmentSpec(KeptObject, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: _AttachmentSource = _AttachmentSource()


class VolumeAttachment(KeptObject, frozen=True):
    metadata: StorageMetadata
    spec: _VolumeAttachmentSpec = _VolumeAttachmentSpec()
