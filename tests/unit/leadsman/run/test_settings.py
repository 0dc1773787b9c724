"""Settings: file, environment over it, flags over both; secrets stay unseen; mistakes are named."""

from pathlib import Path

import pytest

from common.errors import FilesUnusable
from common.settings import SettingsError
from leadsman.run.settings import load, shown

SECRET = "s3cret-and-sound"  # noqa: S105  # a canary


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEADSMAN_DB", raising=False)


def write(folder: Path, text: str) -> Path:
    file = folder / "leadsman.yaml"
    file.write_text(text)
    return file


def test_the_environment_is_over_the_file_and_a_flag_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "kafka: {bootstrap_servers: 'f:1', topic_prefix: f, partitions: 3}")
    monkeypatch.setenv("LEADSMAN_KAFKA__TOPIC_PREFIX", "e")
    monkeypatch.setenv("LEADSMAN_DB", "chdb://e")
    kafka = load(file).kafka
    assert (kafka.bootstrap_servers, kafka.topic_prefix, kafka.partitions) == ("f:1", "e", 3)
    assert load(file, db="chdb://flag").db.get_secret_value() == "chdb://flag"
    assert load(file, db=None).db.get_secret_value() == "chdb://e"


def test_variables_in_the_file_are_filled_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "db: 'http://u:${PASSWORD}@h:8123/${NAME:-leadsman}'")
    monkeypatch.setenv("PASSWORD", SECRET)
    assert load(file).db.get_secret_value() == f"http://u:{SECRET}@h:8123/leadsman"
    monkeypatch.delenv("PASSWORD")
    with pytest.raises(SettingsError, match="the environment has no PASSWORD"):
        load(file)


def test_a_variable_s_value_is_text_and_no_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFIX", "a, partitions: 99")
    with pytest.raises(SettingsError, match=r"kafka\.topic_prefix"):
        load(write(tmp_path, "kafka: {topic_prefix: '${PREFIX}'}"))


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    sasl = f"security_protocol: SASL_SSL, username: u, password: {SECRET}"
    settings = load(write(tmp_path, f"db: http://u:{SECRET}@h:8123/x\nkafka: {{{sasl}}}"))
    assert SECRET not in shown(settings) + repr(settings)
    assert "security_protocol: SASL_SSL" in shown(settings)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("kafka: {bootstrap_servers: nonsense}", r"kafka\.bootstrap_servers"),
        ("kafka: {partitions: 0}", r"kafka\.partitions"),
        ("kafka: {bootstrap: 'a:1'}", r"kafka\.bootstrap"),
        ("kafka: {security_protocol: SASL_SSL}", "needs username and password"),
        ("land: {batch_seconds: 0}", r"land\.batch_seconds"),
        ("nonesuch: 1", "nonesuch"),
        ("watch: {cluster: ''}", r"watch\.cluster"),
        ("- a list", "settings are `name: value`"),
        ("a: [", "no YAML"),
    ],
)
def test_a_mistake_is_named_with_its_setting(tmp_path: Path, text: str, names: str) -> None:
    with pytest.raises(SettingsError, match=names):
        load(write(tmp_path, text))


def test_a_wrong_value_is_not_repeated_for_it_may_be_a_secret(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as failure:
        load(write(tmp_path, f"kafka: {{username: [{SECRET}]}}"))
    assert SECRET not in str(failure.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load(tmp_path / "none.yaml")


def test_a_ca_file_that_is_not_there_is_told() -> None:
    settings = load(kafka={"security_protocol": "SSL", "ca_file": "/nonesuch"})
    with pytest.raises(FilesUnusable, match="ca_file: /nonesuch cannot be used"):
        settings.kafka.client_options()
