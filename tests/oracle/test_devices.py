"""Our judgement of claims of devices against the scheduler's plugin DynamicResources (rules: scheduler-devices)."""

from typing import Any, Final

from hypothesis import given, settings

from fakes.devices import DEVICES, device_clusters
from fakes.places import neighbour
from fakes.storage import rows
from oracle.programs import Oracles
from sql.questions.fit_storage import Scheduled
from streams.rules.scheduling.device_claims import device_needs, device_reasons, node_devices

MINOR: Final = 36


@settings(settings.get_profile("oracle"))
@given(device_clusters())
def test_where_claims_of_devices_let_a_pod_go_is_what_the_schedulers_plugin_finds(
    kubernetes: Oracles, asked: dict[str, Any]
) -> None:
    answer = kubernetes.ask("devices", asked)
    objects = rows(asked)
    devices = Scheduled(
        [(each.resource, each.namespace, each.name, each.facts) for each in objects], DEVICES
    ).devices()
    needs = device_needs(neighbour(asked["pod"]).constraints, "ns", devices, MINOR, pod=("p", "new"))
    nodes = [(each["metadata"]["name"], each["metadata"]["labels"]) for each in asked["nodes"]]
    for (name, labels), there in zip(nodes, node_devices(devices, nodes), strict=True):
        reasons, unknown = device_reasons(needs, name, labels, there)
        theirs = answer[name]
        assert theirs if reasons else unknown or not theirs, (name, theirs, reasons)
        # An error, of devices that are not to be had all at once, comes before that there are too few.
        assert unknown or theirs == reasons[:1] or theirs[0].startswith("claim "), (name, theirs, reasons)
