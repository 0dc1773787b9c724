"""The settings of `up` reach its parts whole, and through the environment."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.run.settings import Settings, load
from leadsman.run.up import environment_of, with_identity


def _as_a_part_sees_them(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    with monkeypatch.context() as patch:
        for name, value in environment_of(settings).items():
            patch.setenv(name, value)
        return load()


FLAGS: dict[str, Any] = {
    "db": "http://user:p%40ss@h:8123/d",
    "kafka": {
        "bootstrap_servers": "a:1,b:2",
        "security_protocol": "SASL_PLAINTEXT",
        "username": "u",
        "password": "p'\"{}$",
    },
    "watch": {
        "cluster": "lab",
        "kubeconfig": "/etc/kubeconfig",
        "kubelet": {"access": "direct", "addresses": {"n1": "h:1"}, "insecure": True},
        "election": {"enabled": False},
    },
}


def test_a_part_gets_all_settings_and_the_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(**FLAGS)
    assert _as_a_part_sees_them(settings, monkeypatch) == settings


def test_a_flag_of_up_goes_over_the_environment_in_its_parts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_KAFKA__BOOTSTRAP_SERVERS", "elsewhere:1")
    assert "LEADSMAN_KAFKA__BOOTSTRAP_SERVERS" not in environment_of(load(**FLAGS))


def test_without_any_setting_a_part_has_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _as_a_part_sees_them(load(), monkeypatch) == load()


def test_a_watcher_that_is_started_again_has_the_same_name_in_the_election(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = with_identity(load(**FLAGS), "host-1")
    assert _as_a_part_sees_them(settings, monkeypatch).live().election.identity == "host-1"
    given = load(watch={"election": {"identity": "mine"}})
    assert with_identity(given, "host-1").live().election.identity == "mine"


def test_a_relative_file_is_found_wherever_a_part_runs() -> None:
    environment = environment_of(load(watch={"kubeconfig": "config"}))
    assert json.loads(environment["LEADSMAN_WATCH"])["kubeconfig"] == str(Path.cwd() / "config")


@given(password=st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1))
def test_any_password_survives(password: str) -> None:
    settings = load(kafka={"security_protocol": "SASL_PLAINTEXT", "username": "u", "password": password})
    assert json.loads(environment_of(settings)["LEADSMAN_KAFKA"])["password"] == password
