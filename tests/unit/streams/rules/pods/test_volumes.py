"""The volumes that count for an eviction, reasoned from rules: eviction-order."""

from typing import Any

import msgspec
import pytest

from ingest.model.objects.pod import Pod
from streams.rules.pods.containers import local_volumes, used_by


def pod(*volumes: dict[str, Any]) -> Pod:
    return msgspec.convert({"metadata": {"name": "p"}, "spec": {"volumes": list(volumes)}, "status": {}}, Pod)


@pytest.mark.parametrize(
    ("kind", "value", "is_local"),
    [
        ("hostPath", {"path": "/var/log"}, True),
        ("gitRepo", {"repository": "x"}, True),
        ("configMap", {"name": "c"}, True),
        ("emptyDir", {}, True),
        ("emptyDir", {"sizeLimit": "1Gi"}, True),
        ("emptyDir", {"medium": "Memory"}, False),
        ("emptyDir", {"medium": "HugePages-2Mi"}, False),
        ("secret", {"secretName": "s"}, False),
        ("projected", {"sources": []}, False),
        ("downwardAPI", {}, False),
        ("csi", {"driver": "d"}, False),
        ("ephemeral", {"volumeClaimTemplate": {}}, False),
        ("persistentVolumeClaim", {"claimName": "c"}, False),
    ],
)
def test_host_paths_and_ephemeral_volumes_on_the_nodes_disk_are_local(
    kind: str, value: dict[str, Any], *, is_local: bool
) -> None:
    assert local_volumes(pod({"name": "v", kind: value})) == (("v",) if is_local else ())


def test_only_volumes_of_these_names_count() -> None:
    assert used_by(("a", "c", "gone"), "a:10:1,b:100:10,c:1000:100,a-2:7:7") == (1010, 101)
    assert used_by((), "a:10:1") == (0, 0)
    assert used_by(("a",), "") == (0, 0)
