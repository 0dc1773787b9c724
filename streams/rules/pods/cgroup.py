"""The cgroup values that the kubelet gives a pod, and CPU shares as weights (rules: cgroup-values)."""

import math
from typing import Final, NamedTuple

from streams.rules.pods.qos import BEST_EFFORT

CPU_PERIOD_MICROSECONDS: Final = 100_000

_LEAST_SHARES: Final = 2
_MOST_SHARES: Final = 262_144
_LEAST_QUOTA_MICROSECONDS: Final = 1_000
_MOST_WEIGHT: Final = 10_000
_SHARES_RANGE: Final = _MOST_SHARES - _LEAST_SHARES
_WEIGHT_RANGE: Final = _MOST_WEIGHT - 1


class PodCgroup(NamedTuple):
    """The values of a pod's own cgroup; None where one is not set."""

    cpu_shares: int
    cpu_weight: int
    """Of cgroup v2, by the kubelet's formula."""
    cpu_quota_microseconds: int | None
    """In each period of 100,000 microseconds."""
    memory_limit_bytes: int | None


def pod_cgroup(
    qos_class: str,
    cpu_request_millicores: int,
    cpu_limit_millicores: int | None,
    memory_limit_bytes: int | None,
) -> PodCgroup:
    """Return a pod's cgroup values from its effective requests and limits (rules: pod-requests).

    A limit is None unless every container declares one: see `requests.cpu_limit` and `requests.memory_limit`.
    """
    if qos_class == BEST_EFFORT:
        return PodCgroup(_LEAST_SHARES, weight_of_shares(_LEAST_SHARES), None, None)
    shares = shares_of(cpu_request_millicores)
    return PodCgroup(
        cpu_shares=shares,
        cpu_weight=weight_of_shares(shares),
        cpu_quota_microseconds=quota_of(cpu_limit_millicores or 0),
        memory_limit_bytes=memory_limit_bytes or None,
    )


def shares_of(millicores: int) -> int:
    """Return CPU shares, 2 to 262144."""
    return max(_LEAST_SHARES, min(_MOST_SHARES, millicores * 1024 // 1000))


def quota_of(millicores: int) -> int | None:
    """Return the microseconds of CPU time in a period, at least 1000; None, unlimited, for no limit."""
    if millicores <= 0:
        return None
    return max(_LEAST_QUOTA_MICROSECONDS, millicores * CPU_PERIOD_MICROSECONDS // 1000)


def weight_of_shares(shares: int) -> int:
    """Return the cgroup v2 weight that the kubelet gives pods and QoS classes: linear in the shares, 2 to 262144."""
    return 1 + (shares - _LEAST_SHARES) * _WEIGHT_RANGE // _SHARES_RANGE


def runtime_weight_of_shares(shares: int) -> int:
    """Return the cgroup v2 weight that runc 1.3.2, crun 1.23 and later give containers: 100 for one CPU."""
    if shares <= _LEAST_SHARES:
        return 1
    if shares >= _MOST_SHARES:
        return _MOST_WEIGHT
    log = math.log2(shares)
    return math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34))


def shares_of_weight(weight: int) -> int:
    """Return the shares that the kubelet reads from its own weight; what the weight rounded away stays lost."""
    return (weight - 1) * _SHARES_RANGE // _WEIGHT_RANGE + _LEAST_SHARES
