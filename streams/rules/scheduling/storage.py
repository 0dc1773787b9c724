"""Reduces storage objects to the facts that the scheduler rules use (rules: scheduler-volumes)."""

from typing import Final

import msgspec

from ingest.model.objects.base import ResourceList
from ingest.model.objects.pod import NodeSelectorTerm
from ingest.model.objects.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    StorageClass,
    VolumeAttachment,
)
from streams.rules.scheduling.selectors import Requirement, Terms, node_terms, selector
from streams.rules.values.quantity import in_base_units

_BETA: Final = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")
TOPOLOGY_LABELS: Final = (*_BETA, "topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_IN_TREE: Final = (
    "aws_elastic_block_store",
    "azure_disk",
    "azure_file",
    "cinder",
    "gce_persistent_disk",
    "portworx_volume",
    "vsphere_volume",
)
"""In-tree plugins that may be migrated to CSI, with other topology labels. Fit is unknown for them."""


_STORED: Final = {
    "selector": "labels",
    "attributes_class": "attributes",
    "controller_uid": "owner",
    "uses_default_class": "by_default",
    "topology": "zones",
}
"""Names of fields in the table `scheduled_objects`, if they differ."""


class _Facts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, rename=_STORED):
    pass


class Claim(_Facts, frozen=True):
    volume: str = ""
    bound: bool = False
    phase: str = ""
    deleting: bool = False
    storage_class: str = ""
    selected_node: str | None = None
    bytes: int = 0
    mode: str = ""
    """Empty for a file system, which is the default."""
    access: list[str] = []
    selector: list[Requirement] = []
    """Requirements on a volume's labels."""
    attributes_class: str = ""
    controller_uid: str = ""
    uid: str = ""
    uses_default_class: bool = False
    """True for a claim that is not created yet and names no class: it gets the cluster's default class."""


class Volume(_Facts, frozen=True):
    storage_class: str = ""
    phase: str = ""
    deleting: bool = False
    claim: tuple[str, str, str] | None = None
    """Namespace, name and uid of the claim that it is bound to or reserved for."""
    bytes: int = 0
    mode: str = ""
    """Empty for a file system, which is the default."""
    access: list[str] = []
    labels: dict[str, str] = {}
    attributes_class: str = ""
    nodes: Terms | None = None
    topology: list[Requirement] = []
    """Requirements of its zone and region labels."""
    driver: str = ""
    handle: str = ""
    """CSI volume handle; empty if the volume is not CSI."""
    in_tree: bool = False

    def known_as(self, name: str) -> str:
        """Return the CSI handle; `name` if there is none. Volumes with the same handle are the same volume."""
        return self.handle or name


class Class(_Facts, frozen=True):
    provisioner: str = ""
    binding: str = ""
    topologies: Terms | None = None
    default: bool = False


class NodeDrivers(_Facts, frozen=True):
    limits: dict[str, int] = {}
    """Number of volumes that a node can attach, by driver; a driver without a limit is absent."""


class Driver(_Facts, frozen=True):
    tracks_capacity: bool = False


class Attachment(_Facts, frozen=True):
    driver: str = ""
    node: str = ""
    volume: str = ""


def claim_facts(claim: PersistentVolumeClaim) -> Claim:
    annotations = claim.metadata.annotations
    return msgspec.structs.replace(
        claim_of_spec(claim.spec, annotations.storage_class if annotations else None),
        bound=bool(claim.spec.volume_name) and annotations is not None and annotations.bind_completed is not None,
        phase=claim.status.phase,
        deleting=claim.metadata.deletion_timestamp is not None,
        selected_node=annotations.selected_node if annotations else None,
        controller_uid=claim.metadata.controller,
        uid=claim.metadata.uid,
        uses_default_class=False,
    )


def claim_of_spec(spec: PersistentVolumeClaimSpec, legacy_class: str | None = None) -> Claim:
    """Convert a claim's spec, without status or metadata; `legacy_class`, from the annotation, wins."""
    return Claim(
        volume=spec.volume_name,
        storage_class=(spec.storage_class_name or "") if legacy_class is None else legacy_class,
        bytes=_bytes(spec.resources.requests if spec.resources else None),
        mode=_mode(spec.volume_mode),
        access=sorted(spec.access_modes or ()),
        selector=selector(spec.selector) if spec.selector else [],
        attributes_class=spec.volume_attributes_class_name,
        uses_default_class=spec.storage_class_name is None and legacy_class is None,
    )


def volume_facts(volume: PersistentVolume) -> Volume:
    spec, metadata = volume.spec, volume.metadata
    affinity, reference, labels = spec.node_affinity, spec.claim_ref, metadata.labels or {}
    legacy_class = metadata.annotations.storage_class if metadata.annotations else None
    return Volume(
        storage_class=spec.storage_class_name if legacy_class is None else legacy_class,
        phase=volume.status.phase,
        deleting=metadata.deletion_timestamp is not None,
        claim=(reference.namespace, reference.name, reference.uid) if reference else None,
        bytes=_bytes(spec.capacity),
        mode=_mode(spec.volume_mode),
        access=sorted(spec.access_modes or ()),
        labels=labels,
        attributes_class=spec.volume_attributes_class_name,
        nodes=node_terms(None, affinity.required.node_selector_terms or [])
        if affinity and affinity.required
        else None,
        topology=[Requirement(key, "In", names) for key in TOPOLOGY_LABELS if (names := _split(labels.get(key, "")))],
        driver=spec.csi.driver if spec.csi else "",
        handle=spec.csi.volume_handle if spec.csi else "",
        in_tree=any(getattr(spec, kind) is not None for kind in _IN_TREE),
    )


def class_facts(storage_class: StorageClass) -> Class:
    terms = [
        NodeSelectorTerm(match_expressions=[each.expression for each in term.match_label_expressions or ()])
        for term in storage_class.allowed_topologies or ()
    ]
    annotations = storage_class.metadata.annotations
    return Class(
        storage_class.provisioner,
        storage_class.volume_binding_mode or "",
        node_terms(None, terms) if terms else None,
        annotations is not None and annotations.default_class == "true",
    )


def csi_node_facts(node: CSINode) -> NodeDrivers:
    limits = {each.name: each.allocatable.count for each in node.spec.drivers or () if each.allocatable}
    return NodeDrivers({name: count for name, count in limits.items() if count is not None})


def csi_driver_facts(driver: CSIDriver) -> Driver:
    return Driver(bool(driver.spec.storage_capacity))


def attachment_facts(attachment: VolumeAttachment) -> Attachment:
    spec = attachment.spec
    return Attachment(spec.attacher, spec.node_name, spec.source.persistent_volume_name)


def _mode(volume_mode: str) -> str:
    return "" if volume_mode == "Filesystem" else volume_mode


def _split(label: str) -> list[str]:
    """Split the label of a zone or region at `__`. A label with an empty part gives none."""
    parts = [each.strip() for each in label.split("__")]
    return sorted(set(parts)) if all(parts) else []


def _bytes(amounts: ResourceList | None) -> int:
    return in_base_units({"storage": (amounts or {}).get("storage", 0)}).get("storage", 0)
