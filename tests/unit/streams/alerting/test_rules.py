"""The rules file and its mistakes, and the queries that alerts send people to."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from common.text import plain
from paths import ROOT
from profiles import EXAMPLES
from sql.questions.queries import saved_queries
from streams.alerting.rules_file import ALERT_NAMES, DEFAULTS, MODEL, PACKAGED, BadRules, default_rules, read_rules
from streams.alerting.runbook import FOLDER


def written(folder: Path, text: str) -> Path:
    file = folder / "rules.yaml"
    file.write_text(text)
    return file


def problem(folder: Path, text: str) -> str:
    with pytest.raises(BadRules) as reported:
        read_rules(written(folder, text))
    assert str(reported.value).startswith(f"{folder}/rules.yaml: ")
    return str(reported.value).removeprefix(f"{folder}/rules.yaml: ")


def test_every_setting_stands_in_the_packaged_file() -> None:
    values = yaml.safe_load(DEFAULTS.read_text())
    assert set(values["alerts"]) == set(ALERT_NAMES)
    rules = default_rules().model_dump(by_alias=True)
    for alertname, rule in rules["alerts"].items():
        assert set(values["alerts"][alertname]) == set(rule), alertname


def test_the_packaged_rules_are_as_validated() -> None:
    assert repr(default_rules()) == repr(MODEL.model_validate(PACKAGED))


def test_the_switch_is_off_by_default() -> None:
    assert default_rules().of("ImageGCInvalidCapacity").every_invalid_disk_capacity is False


def test_a_file_says_only_what_differs(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, "alerts:\n  PodsEvicted:\n    keep_firing: 1h30m\n"))
    assert rules.of("PodsEvicted").keep_firing_seconds == 5400.0
    assert rules.of("PodsEvicted").for_seconds == default_rules().of("PodsEvicted").for_seconds
    assert rules.of("NUMASkewHigh") == default_rules().of("NUMASkewHigh")


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert read_rules(written(tmp_path, "# nothing\n")) == default_rules()


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("alert:\n  x: 1\n", "line 1: alert: there is no such setting; there are runbooks, alerts"),
        (
            "alerts:\n  PodEvicted: {}\n",
            "line 2: alerts.PodEvicted: there is no such setting; there are EvictionThre",
        ),
        ("alerts:\n  PodsEvicted:\n    fro: 1s\n", "line 3: alerts.PodsEvicted.fro: there is no such setting; there"),
        ("alerts:\n  PodsEvicted:\n    for: 10\n", "line 3: alerts.PodsEvicted.for: a duration is written as 30s, 5"),
        ("alerts:\n  PodsEvicted:\n    for: soon\n", "line 3: alerts.PodsEvicted.for: 'soon' is not a duration"),
        (
            "alerts:\n  PodsEvicted:\n    for: -1s\n",
            "line 3: alerts.PodsEvicted.for: a duration must not be negative",
        ),
        (
            "alerts:\n\n  PodsEvicted:\n    severity: page\n",
            "line 4: alerts.PodsEvicted.severity: Input should be 'c",
        ),
        ("alerts:\n  PodsEvicted:\n    enabled: maybe\n", "line 3: alerts.PodsEvicted.enabled: Input should be a v"),
        ("alerts:\n  NUMASkewHigh:\n    node_skew_ratio: 2\n", "line 3: alerts.NUMASkewHigh.node_skew_ratio: Input"),
        ("alerts:\n  PressureOscillation:\n    times: 1\n", "line 3: alerts.PressureOscillation.times: Input should"),
        (
            "alerts:\n  NUMAFragmented:\n    scopes: [rack]\n",
            "line 3: alerts.NUMAFragmented.scopes.0: Input should b",
        ),
        ("runbooks: javascript:alert(1)\n", "line 1: runbooks: String should match pattern"),
        ("alerts: 3\n", "line 1: alerts: Input should be"),
        ("every_invalid_disk_capacity: true\n", "line 1: every_invalid_disk_capacity: there is no such setting"),
        ("- 3\n", "line 1: rules are `name: value`, this is a list"),
        ("runbooks: a\nrunbooks: b\n", "line 2: runbooks occurs twice"),
        ("a: 1\nb: [\n", "line 3: not valid YAML: "),
        ("a: !!python/object:os.system x\n", "line 1: not valid YAML: could not determine a constructor"),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_what_is_allowed(tmp_path: Path, text: str, reported: str) -> None:
    assert problem(tmp_path, text).startswith(reported)


def test_a_wrong_value_is_shown_once(tmp_path: Path) -> None:
    assert problem(tmp_path, "alerts:\n  PodsEvicted:\n    for: soon\n").count("soon") == 1


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    reported = problem(tmp_path, "x: 1\nalerts:\n  PodsEvicted:\n    for: 10\n")
    assert "line 1: x" in reported
    assert "line 4: alerts.PodsEvicted.for" in reported


def test_a_hostile_value_is_shown_as_text(tmp_path: Path) -> None:
    assert problem(tmp_path, 'alerts: {PodsEvicted: {severity: "\\e[31m"}}').isprintable()


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadRules, match=r"nowhere\.yaml: cannot be read: No such file"):
        read_rules(tmp_path / "nowhere.yaml")


def test_bytes_that_are_no_text_are_reported(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadRules, match="not UTF-8"):
        read_rules(tmp_path / "rules.yaml")


@settings(max_examples=EXAMPLES // 2)
@given(st.text(max_size=60))
def test_any_text_is_rules_or_one_harmless_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(text, "utf-8", errors="surrogatepass")
    reported = ""
    try:
        read_rules(file)
    except BadRules as error:
        reported = str(error)
    assert plain(reported, len(reported)) == reported


def test_every_saved_query_that_pages_and_alerts_name_exists() -> None:
    known = {query.name for query in saved_queries()}
    places = FOLDER.glob("*.md"), (ROOT / "streams/alerting").rglob("*.py")
    texts = [file.read_text("utf-8") for files in places for file in files]
    named = {
        name
        for text in texts
        for name in re.findall(
            r"leadsman query (\w+)", re.sub(r'"?\n\s*f?"', "", text.replace("leadsman query \n", ""))
        )
    }
    assert named
    assert named <= known
