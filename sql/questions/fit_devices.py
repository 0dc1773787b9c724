"""The tables' facts about the devices that claims can get, for `streams.rules.scheduling.device_claims`."""

from collections.abc import Iterable, Sequence

from sql.questions.fit_storage import by_resource
from streams.questions.fit import Candidate
from streams.rules.scheduling.device_claims import Devices, node_devices
from streams.rules.scheduling.devices import DeviceClaim, Selection, Slice


def devices_of(objects: Iterable[Sequence[str]], listed: Iterable[str]) -> Devices:
    """Read devices from the resource, namespace, name and facts of each object."""
    found = by_resource(objects)
    classes, slices = found("deviceclasses", Selection), found("resourceslices", Slice)
    return Devices(
        listed=frozenset(listed),
        claims=found("resourceclaims", DeviceClaim),
        classes={name: of for (_, name), of in classes.items()},
        slices=tuple(slices.values()),
    )


def with_devices(candidates: Sequence[Candidate], devices: Devices) -> list[Candidate]:
    found = node_devices(devices, [(each.state.node, each.state.labels) for each in candidates])
    return [
        candidate._replace(state=candidate.state._replace(devices=each))
        for candidate, each in zip(candidates, found, strict=True)
    ]
