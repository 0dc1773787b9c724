"""Answers about pods that are alike, given once."""

from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar

import msgspec

from ingest.model.objects.pod import Pod

_KEPT_ANSWERS: Final = 4096
_encode: Final = msgspec.json.Encoder().encode
Answer = TypeVar("Answer")


def alike(function: Callable[[Pod], Answer]) -> Callable[[Pod], Answer]:
    """Keep the answers for pods that are alike: those of one workload, and a pod whose status goes on changing."""
    known: dict[bytes, Answer] = {}

    @wraps(function)
    def answer(pod: Pod) -> Answer:
        asked = _what_is_asked(pod)
        if asked not in known:
            if len(known) >= _KEPT_ANSWERS:
                known.clear()
            known[asked] = function(pod)
        return known[asked]

    return answer


def _of_the_last(function: Callable[[Pod], bytes]) -> Callable[[Pod], bytes]:
    last: tuple[Pod | None, bytes] = (None, b"")

    def of(pod: Pod) -> bytes:
        nonlocal last
        if last[0] is not pod:
            last = (pod, function(pod))
        return last[1]

    return of


@_of_the_last
def _what_is_asked(pod: Pod) -> bytes:
    """All of a pod that rules about its requests and limits read: where it is equal, their answers are."""
    spec, status = pod.spec, pod.status
    statuses = (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    resizes = [each.reason for each in status.conditions or () if each.type == "PodResizePending"]
    return _encode(
        (
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
            status.qos_class,
            status.resources,
            status.allocated_resources,
            [(each.name, each.allocated_resources, each.resources) for each in statuses],
            resizes,
            status.resize,
        )
    )
