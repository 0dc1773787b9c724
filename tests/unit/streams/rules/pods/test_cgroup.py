"""Cgroup values (rules: cgroup-values)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.pods.cgroup import (
    PodCgroup,
    pod_cgroup,
    quota_of,
    runtime_weight_of_shares,
    shares_of,
    shares_of_weight,
    weight_of_shares,
)


@pytest.mark.parametrize(
    ("millicores", "shares"),
    [(0, 2), (1, 2), (2, 2), (3, 3), (100, 102), (1000, 1024), (4000, 4096), (256000, 262144), (10**9, 262144)],
)
def test_shares_of_a_cpu_request(millicores: int, shares: int) -> None:
    assert shares_of(millicores) == shares


@pytest.mark.parametrize(
    ("millicores", "kubelet", "runtime"), [(0, 1, 1), (100, 4, 17), (1000, 39, 100), (4000, 157, 303)]
)
def test_the_two_weight_formulas_differ(millicores: int, kubelet: int, runtime: int) -> None:
    """Verified for 100m, 1 and 4 CPUs (rules: cgroup-values)."""
    assert weight_of_shares(shares_of(millicores)) == kubelet
    assert runtime_weight_of_shares(shares_of(millicores)) == runtime


def test_both_weights_span_1_to_10000() -> None:
    assert (weight_of_shares(2), weight_of_shares(262144)) == (1, 10000)
    assert (runtime_weight_of_shares(2), runtime_weight_of_shares(262144)) == (1, 10000)
    assert runtime_weight_of_shares(0) == 1
    assert runtime_weight_of_shares(10**9) == 10000


@pytest.mark.parametrize(
    ("millicores", "quota"), [(0, None), (1, 1000), (10, 1000), (11, 1100), (100, 10000), (1000, 100000)]
)
def test_quota_of_a_cpu_limit(millicores: int, quota: int | None) -> None:
    assert quota_of(millicores) == quota


@given(st.integers(2, 262144))
def test_the_kubelets_inverse_loses_less_than_one_step_of_weight(shares: int) -> None:
    """One of 9999 steps over 262142 shares is 26.2 shares, and the inverse itself is cut to a whole number."""
    assert 0 <= shares - shares_of_weight(weight_of_shares(shares)) <= 27


@given(st.integers(2, 262144), st.integers(2, 262144))
def test_more_shares_never_weigh_less(one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert weight_of_shares(less) <= weight_of_shares(more)
    assert runtime_weight_of_shares(less) <= runtime_weight_of_shares(more)


def test_a_guaranteed_pod_gets_shares_quota_and_memory_limit() -> None:
    assert pod_cgroup("Guaranteed", 1000, 1000, 2**30) == PodCgroup(
        cpu_shares=1024, cpu_weight=39, cpu_quota_microseconds=100000, memory_limit_bytes=2**30
    )


def test_a_burstable_pod_gets_only_the_limits_that_all_its_containers_have() -> None:
    assert pod_cgroup("Burstable", 100, None, 2**30) == PodCgroup(102, 4, None, 2**30)
    assert pod_cgroup("Burstable", 0, 200, None) == PodCgroup(2, 1, 20000, None)
    assert pod_cgroup("Burstable", 0, 0, 0) == PodCgroup(2, 1, None, None)


def test_a_best_effort_pod_gets_the_fewest_shares_and_no_limit() -> None:
    assert pod_cgroup("BestEffort", 0, None, None) == PodCgroup(2, 1, None, None)
