"""Detects dumps that mix two clusters, by objects that every cluster has exactly once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from common.amounts import counted
from common.text import plain
from ingest.files.documents import Found
from ingest.files.lines import named
from ingest.model.observation import if_decodable

_SYSTEM: Final = "kube-system"
_LONGEST: Final = 100
"""Maximum number of characters of a name in a sentence."""


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename={"cluster_id": "clusterID"}):
    cluster_id: str = ""


class _One(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


_ONE: Final = msgspec.json.Decoder(_One)


class Clusters:
    """Collects the namespace kube-system of each cluster in a dump, and OpenShift's ClusterVersion, by `note`."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, Path]] = {"Namespace": {}, "ClusterVersion": {}}
        """The first file with each identity, by kind."""

    def note(self, found: Found, path: Path) -> None:
        kind = found.kind.removesuffix("List")
        if kind not in self._found or (one := if_decodable(_ONE.decode, found.raw)) is None:
            return
        own = one.spec.cluster_id if kind == "ClusterVersion" else one.metadata.uid
        if own and (kind == "ClusterVersion" or one.metadata.name == _SYSTEM):
            self._found[kind].setdefault(own, path)

    @property
    def said(self) -> Iterator[str]:
        """Yield a sentence for each kind of which there is more than one."""
        for kind, found in self._found.items():
            if len(found) > 1:
                what = f"{_SYSTEM} namespaces" if kind == "Namespace" else "ClusterVersions"
                files = " and ".join(dict.fromkeys(plain(named(path), _LONGEST) for path in list(found.values())[:2]))
                yield (
                    f"{files}: {counted(len(found), 'cluster')} ({what} of different IDs), which were read as one;"
                    " replay the files of each alone, with --cluster NAME"
                )
