"""NUMAFragmented: a request that no NUMA node takes, although the CPUs are there."""

from components.alert_log import AlertLog, changed, skew


def test_a_cluster_is_fragmented_where_no_numa_node_takes_the_request() -> None:
    log = AlertLog(node="")
    log(0, skew("cluster", skew_ratio=0.0, free_cpus=44, largest_fit_cpus=6))
    assert log(600) == ["firing NUMAFragmented"]
    assert "44 CPUs are free, at most 6 of them on one NUMA node" in log.summaries[0]
    assert log.emitted[0].node == ""
    log(660, skew("cluster", skew_ratio=0.0, free_cpus=44, largest_fit_cpus=8))
    assert log(1260) == ["resolved NUMAFragmented"]


def test_a_node_is_fragmented_only_for_those_who_ask() -> None:
    fragmented = skew(free_cpus=14, largest_fit_cpus=7, skew_ratio=0.0)
    log = AlertLog()
    log(0, fragmented)
    assert log(700) == []
    asked = AlertLog(changed(NUMAFragmented={"scopes": ["node"]}))
    asked(0, fragmented)
    assert asked(700) == ["firing NUMAFragmented"]


def test_a_node_without_exclusive_cpus_is_not_fragmented() -> None:
    log = AlertLog(changed(NUMAFragmented={"scopes": ["node"], "for": "0s"}))
    assert log(0, skew(free_cpus=14, largest_fit_cpus=7, cpu_manager_policy="none")) == []


def test_too_few_free_cpus_are_no_fragments() -> None:
    log = AlertLog(changed(NUMAFragmented={"for": "0s"}), node="")
    assert log(0, skew("cluster", free_cpus=7, largest_fit_cpus=6)) == []
