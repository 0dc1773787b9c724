"""RestartEndsPods: before a kubelet with full-pcpus-only restarts on a full node, and without the evidence."""

from typing import Any

import pytest

from components.alert_log import AlertLog, changed, skew
from components.rows import row
from streams.fold.findings import KubeletSetting, NumaPod, Row


def held(cpus: int, pod: str = "big") -> NumaPod:
    return row(NumaPod, node="n", namespace="ns", pod=pod, container="c", cpus=cpus)


def settings(policy: str = "static", **options: str) -> KubeletSetting:
    return row(KubeletSetting, node="n", cpu_manager_policy=policy, cpu_manager_policy_options=options)


WHOLE: dict[str, Any] = {"full-pcpus-only": "true"}
AT_ONCE = changed(RestartEndsPods={"for": "0s"})


def test_a_pod_that_holds_more_than_is_free_would_be_ended() -> None:
    log = AlertLog(AT_ONCE)
    assert log(0, settings(**WHOLE), held(6), held(2, "small"), skew(free_cpus=4)) == ["firing RestartEndsPods"]
    assert log.summaries == ["Node n: a restart of the kubelet would end 1 running pod"]
    assert "ns/big" in log.descriptions[0]
    assert "small" not in log.descriptions[0]


def test_it_is_over_when_the_pod_is_gone_or_cpus_are_free() -> None:
    for cure in (held(0), skew(free_cpus=6)):
        log = AlertLog(AT_ONCE)
        log(0, settings(**WHOLE), held(6), skew(free_cpus=4))
        log(60, cure)
        assert log(3600) == ["resolved RestartEndsPods"]


@pytest.mark.parametrize(
    "rows",
    [
        (held(6), skew(free_cpus=0)),
        (settings(), held(6), skew(free_cpus=0)),
        (settings("none", **WHOLE), held(6), skew(free_cpus=0)),
        (settings(**WHOLE), held(6)),
        (settings(**WHOLE), held(6), skew(free_cpus=None)),
        (settings(**WHOLE), skew(free_cpus=0)),
    ],
)
def test_without_the_settings_the_free_cpus_or_the_holders_nothing_is_claimed(rows: tuple[Row, ...]) -> None:
    assert AlertLog(AT_ONCE)(0, *rows) == []
