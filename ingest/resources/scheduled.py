"""Objects besides nodes and pods that the scheduler uses.

They are kept as JSON, because only the rule that reads one understands it. All of them are on the cluster's log.
They are of no use in a single namespace, where nodes are not watched.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from ingest.model.objects.base import KeptObject
from ingest.model.observation import Observation
from ingest.model.records import Record, ScheduledObjectRecord
from ingest.resources.decoding import identify, kept, names_of, without_version
from ingest.resources.reading import only_read
from ingest.resources.resource import ApiResource, Object, change_of, on_cluster

Kept = TypeVar("Kept", bound=Object)
_encode: Final = msgspec.json.Encoder().encode


def scheduled(
    name: str,
    of: type[Kept],
    *,
    kinds: Mapping[str, str],
    paths: tuple[str, ...],
    without: str,
    must_gather: str,
    annotations: type[msgspec.Struct] = KeptObject,
) -> ApiResource[Kept]:
    def records(observation: Observation, thing: Kept) -> list[Record]:
        which = identify(thing)
        return [
            ScheduledObjectRecord(
                ts=observation.ts,
                cluster=observation.cluster,
                resource=name,
                change=change_of(observation),
                namespace=which.namespace,
                name=which.name,
                uid=which.uid,
                object=_encode(thing).decode(),
            )
        ]

    return ApiResource(
        name=name,
        decode=kept(of),
        records=records,
        reads=only_read(of),
        annotations=names_of(annotations),
        kinds=kinds,
        paths=paths,
        compared=without_version,
        log=on_cluster,
        optional=True,
        without=without,
        must_gather=must_gather,
    )
