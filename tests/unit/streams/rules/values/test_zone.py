"""The zone key (rules: zone-key)."""

import pytest

from streams.rules.values.labels import zone_key, zone_of

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({}, ""),
        ({ZONE: "a", REGION: "r"}, "r:\x00:a"),
        ({ZONE: "a"}, ":\x00:a"),
        ({REGION: "r"}, "r:\x00:"),
        ({BETA_ZONE: "b", BETA_REGION: "s"}, "s:\x00:b"),
        ({BETA_ZONE: "b", ZONE: "a", BETA_REGION: "s", REGION: "r"}, "s:\x00:b"),
        ({BETA_ZONE: "b", REGION: "r"}, "r:\x00:b"),
        ({ZONE: "", REGION: ""}, ""),
    ],
)
def test_zone_key_of_labels(labels: dict[str, str], key: str) -> None:
    assert zone_key(labels) == key


def test_an_empty_beta_label_hides_the_stable_one() -> None:
    hidden = {BETA_ZONE: "", ZONE: "a", BETA_REGION: "", REGION: "r"}
    assert zone_key(hidden) == ""
    assert zone_key({BETA_ZONE: "", ZONE: "a", REGION: "r"}) == "r:\x00:"


def test_a_node_without_labels_has_the_empty_zone_key() -> None:
    assert zone_key(None) == ""


def test_the_zone_of_a_key_without_a_zone_is_its_region() -> None:
    assert zone_of(zone_key({REGION: "eu", ZONE: "eu-1"})) == "eu-1"
    assert zone_of(zone_key({REGION: "eu"})) == "eu"
    assert zone_of("") == ""
