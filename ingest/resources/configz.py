"""A kubelet's settings, as `/configz` answers them."""

from typing import Final

import msgspec

from ingest.model.objects.kubelet import KubeletConfiguration
from ingest.model.observation import Observation
from ingest.model.records import Record, SettingsRecord
from ingest.resources.decoding import kept
from ingest.resources.resource import KubeletResource, node_of


class _Configz(msgspec.Struct, frozen=True):
    kubeletconfig: KubeletConfiguration


def _records(observation: Observation, configz: _Configz) -> list[Record]:
    node = node_of(observation)
    return [SettingsRecord(ts=observation.ts, cluster=observation.cluster, node=node, config=configz.kubeletconfig)]


CONFIGZ: Final = KubeletResource(
    name="configz",
    decode=kept(_Configz),
    records=_records,
    fields=lambda fields: "kubeletconfig" in fields,
    timeless=True,
    seconds=600.0,
    permission="nodes/configz",
    without="eviction thresholds are assumed",
    after_restart=True,
)
