"""Our judgement of volumes against the scheduler's plugins VolumeBinding, VolumeZone, NodeVolumeLimits and
VolumeRestrictions (rules: scheduler-volumes).
"""

from typing import Any, Final

from hypothesis import given, settings

from fakes.places import neighbour
from fakes.storage import RESOURCES, rows, storages
from oracle.programs import Oracles
from sql.questions.fit_storage import Scheduled
from streams.rules.scheduling.volume_needs import LOST_VOLUME, TOO_MANY, needs_of, node_volumes, volume_reasons

MINOR: Final = 36


@settings(settings.get_profile("oracle"))
@given(storages())
def test_where_volumes_can_be_is_what_the_schedulers_plugins_find(kubernetes: Oracles, asked: dict[str, Any]) -> None:
    answer = kubernetes.ask("volumes", asked)
    storage = Scheduled(
        [(each.resource, each.namespace, each.name, each.facts) for each in rows(asked)], RESOURCES
    ).storage()
    pods = [(each["spec"]["nodeName"], neighbour(each)) for each in asked["pods"]]
    there = [(each.namespace, each.constraints) for _, each in pods]
    needs = needs_of(neighbour(asked["pod"]).constraints, "ns", storage, pods=there, uid="new")
    for node in asked["nodes"]:
        name, labels = node["metadata"]["name"], node["metadata"]["labels"]
        on_it = [(each.namespace, each.constraints) for where, each in pods if where == name]
        attached = [each for each in storage.attachments if each.node == name]
        volumes = node_volumes(storage, name, on_it, attached)
        reasons, unknown = volume_reasons(needs, name, labels, volumes, MINOR)
        theirs = {*answer[name]}
        assert theirs if reasons else unknown or not theirs, (node, theirs, reasons)
        # A volume that does not exist counts towards limits by its class; it is refused all the same.
        reported = theirs - {TOO_MANY} if LOST_VOLUME in theirs else theirs
        assert unknown or reported <= {*reasons}, (node, reported, reasons)
