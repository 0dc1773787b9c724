"""Settings: file, environment over it, flags over both; secrets stay unseen; mistakes are named."""

import re
from pathlib import Path

import pytest

from common.errors import FilesUnusable
from common.settings import SettingsError
from ingest.live.settings import LiveSettings
from leadsman.cli.up import command as up
from leadsman.run.settings import FLAGS, HIDDEN, Settings, every_setting, load, redacted_yaml, settings_file

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


def test_an_error_names_the_flag_that_the_value_came_from(tmp_path: Path) -> None:
    """A person who typed a flag knows no setting; who wrote a file knows no flag."""
    wrong = {"access": "by hand", "addresses": {"n": "nowhere"}}
    with pytest.raises(SettingsError, match=r"^--kubelet must be 'direct', .*; --kubelet-address must match pattern"):
        load(watch={"kubelet": wrong})
    with pytest.raises(SettingsError, match=r"^--every must be greater than 0$"):
        load(watch={"kubelet": {"summary_seconds": 0, "metrics_seconds": 0}})
    file = write(tmp_path, "watch: {kubelet: {access: by hand}}")
    with pytest.raises(SettingsError, match=r"leadsman\.yaml .*: watch\.kubelet\.access: must be 'direct'"):
        load(file, watch={"kubelet": {"summary_seconds": 5}})


def test_a_flag_that_an_error_may_name_exists() -> None:
    assert set(FLAGS.values()) <= {name for param in up.params for name in param.opts}


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
    assert SECRET not in redacted_yaml(settings) + repr(settings)
    assert "security_protocol: SASL_SSL" in redacted_yaml(settings)


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
        ("watch: {namespace: '../nodes'}", r"watch\.namespace"),
        ("- a list", "settings are `name: value`"),
        ("a: [", "not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_setting(tmp_path: Path, text: str, names: str) -> None:
    with pytest.raises(SettingsError, match=names):
        load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "name"), [("kafka: [1]", "kafka"), ("kafka: 5", "kafka"), ("watch: {kubelet: x}", r"watch\.kubelet")]
)
def test_a_value_in_the_place_of_a_section_is_refused_although_a_flag_sets_one_of_it(
    tmp_path: Path, text: str, name: str
) -> None:
    with pytest.raises(SettingsError, match=f"{name} is a section"):
        load(write(tmp_path, text), kafka={"bootstrap_servers": "k:9092"}, watch={"kubelet": {"insecure": True}})


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("kafka: {bootstrp_servers: 'a:1'}", "kafka.bootstrap_servers"),
        ("kafka: {cluster: x}", "watch.cluster"),
        ("watch: {kubelet: {acces: off}}", "watch.kubelet.access"),
        ("kakfa: {}", "kafka"),
    ],
)
def test_an_unknown_setting_of_the_file_names_the_nearest(tmp_path: Path, text: str, meant: str) -> None:
    with pytest.raises(SettingsError) as failure:
        load(write(tmp_path, text))
    assert f"there is no such setting. Did you mean {meant}?" in str(failure.value)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("LEADSMAN_KAFKA_BOOTSTRAP_SERVERS", "LEADSMAN_KAFKA__BOOTSTRAP_SERVERS"),
        ("LEADSMAN_KAKFA__PARTITIONS", "LEADSMAN_KAFKA__PARTITIONS"),
        ("LEADSMAN_KAKFA__NONESUCH", "LEADSMAN_KAFKA"),
        ("LEADSMAN_DBS", "LEADSMAN_DB"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest(
    variable: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, SECRET)
    with pytest.raises(SettingsError) as failure:
        load()
    assert str(failure.value) == f"{variable} is not a setting. Did you mean {meant}?"


@pytest.mark.parametrize(
    "variable",
    [
        *("LEADSMAN_SERVICE_HOST", "LEADSMAN_PORT", "LEADSMAN_PORT_8420_TCP_ADDR", "LEADSMAN_TELEMETRY_PORT"),
        *("LEADSMAN_TELEMETRY_SERVICE_HOST", "LEADSMAN_TELEMETRY_SERVICE_PORT_HTTP"),
        *("LEADSMAN_CACHE", "LEADSMAN_FAULTS", "LEADSMAN_SEED", "LEADSMAN_KILLS", "LEADSMAN_UID", "LEADSMAN_CLUSTER"),
    ],
)
def test_variables_of_others_are_none_of_ours(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes' of a Service, and those of our tests and of compose.yaml."""
    monkeypatch.setenv(variable, "tcp://10.0.0.1:8420")
    load()


def test_of_an_address_only_the_password_is_hidden(tmp_path: Path) -> None:
    receivers = f"slack=https://hooks.example.org/services/{SECRET}, webhook=https://u:{SECRET}@h:8443/x, stdout"
    settings = load(write(tmp_path, f"db: https://u:{SECRET}@h:8443/x?ca_file=/ca\nalerts: {{to: [{receivers}]}}"))
    text = redacted_yaml(settings)
    assert SECRET not in text
    assert "db: https://u:**********@h:8443/x?ca_file=/ca\n" in text
    assert "- slack=https://hooks.example.org/**********\n" in text
    assert "- webhook=https://h:8443/**********\n" in text
    assert "- stdout\n" in text
    assert "db: chdb:///a/b\n" in redacted_yaml(load(db="chdb:///a/b"))
    assert f"db: '{HIDDEN}'" in redacted_yaml(load(db=f"postgres://u:{SECRET}@h/x"))


def test_the_file_of_all_settings_sets_nothing_and_each_line_can_be_taken(tmp_path: Path) -> None:
    text = settings_file(Settings)
    assert load(write(tmp_path, text)) == load()
    uncommented = re.sub(r"^#(?!#)", "", text, flags=re.MULTILINE)
    taken = load(write(tmp_path, uncommented))
    assert taken.model_dump() == load().model_dump() | {"watch": LiveSettings().model_dump()}
    assert taken.kafka.is_given
    assert "## DSN of the database: it may hold a password.\n#db: chdb://leadsman-db\n" in text
    sections = {each.model.__name__ for each in every_setting(Settings)} - {"Settings"}
    assert sections.isdisjoint(re.findall(r"\w+", text)), "a reader of the file does not know our classes"


def test_a_wrong_value_is_not_repeated_for_it_may_be_a_secret(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as failure:
        load(write(tmp_path, f"kafka: {{username: [{SECRET}]}}"))
    assert SECRET not in str(failure.value)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load(tmp_path / "none.yaml")


def test_a_missing_ca_file_is_reported() -> None:
    settings = load(kafka={"security_protocol": "SSL", "ca_file": "/nonesuch"})
    with pytest.raises(FilesUnusable, match="ca_file: /nonesuch cannot be used"):
        settings.kafka.client_options()


def test_a_list_in_the_environment_that_is_no_json_is_reported_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_WATCH__SCHEDULER__URLS", "https://10.0.0.1:10259")
    with pytest.raises(SettingsError, match="a list is JSON"):
        load()
    monkeypatch.setenv("LEADSMAN_WATCH__SCHEDULER__URLS", '["https://10.0.0.1:10259"]')
    assert load().live().schedulers == ("https://10.0.0.1:10259",)


@pytest.mark.parametrize("endless", [".inf", "-.inf", ".nan"])
def test_a_number_is_finite(tmp_path: Path, endless: str) -> None:
    file = tmp_path / "leadsman.yaml"
    file.write_text(f"watch: {{scheduler: {{seconds: {endless}}}}}")
    with pytest.raises(SettingsError, match=r"watch\.scheduler\.seconds"):
        load(file)
