"""compose.yaml and Dockerfile: valid, and each command, setting and health check in them is one that works.

No container engine runs on our machines, so what containers would run is run as processes.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

from components.command import COMMAND, ENVIRONMENT
from components.processes import free_port
from leadsman.web.site.access import read_token
from paths import ROOT, TESTS
from waiting import PATIENCE_SECONDS

COMPOSE: Final[dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SPECIFICATION: Final = jsonschema.Draft7Validator(json.loads((TESTS / "schemas/compose-spec.json").read_text()))
OURS: Final = {
    name: service for name, service in COMPOSE["services"].items() if service["image"].startswith("leadsman:")
}
_VARIABLE: Final = re.compile(r"\$\{([A-Z_]+)(?::-([^}]*))?\}")


def filled(text: str) -> str:
    """Fill a value like compose: with its default if the environment has none."""
    return _VARIABLE.sub(lambda found: os.environ.get(found[1]) or found[2] or "", str(text)).replace("$$", "$")


def run(argv: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv, capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE_SECONDS
    )


def environment_of(service: dict[str, Any]) -> dict[str, str]:
    return ENVIRONMENT | {name: filled(value) for name, value in service["environment"].items()}


def test_it_keeps_the_compose_specification() -> None:
    assert list(SPECIFICATION.iter_errors(COMPOSE)) == []


def test_a_mistake_would_be_found() -> None:
    wrong = {"services": {"kafka": {"image": "x", "helthcheck": {}}}}
    with pytest.raises(jsonschema.ValidationError, match="helthcheck"):
        SPECIFICATION.validate(wrong)


def test_there_is_a_service_for_each_part_and_each_has_a_health_check() -> None:
    assert OURS.keys() == {"watch", "work", "land", "alert", "serve", "replay", "demo"}
    ends = {"replay"}
    assert all("healthcheck" in each for name, each in COMPOSE["services"].items() if name not in ends)


def test_the_demo_needs_neither_a_cluster_nor_an_image_nor_a_setting(tmp_path: Path) -> None:
    profiles = {name: service.get("profiles", []) for name, service in COMPOSE["services"].items()}
    runs = {name: COMPOSE["services"][name] for name, each in profiles.items() if not each or "demo" in each}
    assert {"replay", "demo", "work", "land", "kafka", "clickhouse"} <= runs.keys()
    assert {name for name, each in profiles.items() if each == ["live"]} == {"watch", "serve"}
    builds = {name: service["build"] for name, service in OURS.items() if "build" in service}
    assert builds == {"work": "."}, "Compose builds in parallel, and the second to export a tag fails"
    assert not profiles["work"]
    assert all((service["pull_policy"] == "never") != (name in builds) for name, service in OURS.items())
    assert not re.search(r"\$\{\w+(:?\?|\})", json.dumps(list(runs.values())))
    for service in runs.values():
        assert all(other in runs for other in service.get("depends_on", {}))
        sources = [each.partition(":")[0] for each in service.get("volumes", [])]
        assert all((ROOT / each).exists() for each in sources if each.startswith("./"))
    for path in COMPOSE["services"]["replay"]["command"][2:]:
        assert (ROOT / path.lstrip("/")).is_file()
    token = tmp_path / "token"
    token.write_text((ROOT / COMPOSE["secrets"]["demo_token"]["file"]).read_text())
    token.chmod(0o600)
    assert read_token(token, "0.0.0.0")  # noqa: S104 - inside of the container
    assert COMPOSE["services"]["demo"]["ports"] == ["127.0.0.1:8420:8420"]


def test_no_secret_needs_a_root_that_can_be_written() -> None:
    """Compose refuses any other source for a container with a read-only root."""
    assert all(each.keys() == {"file"} for each in COMPOSE["secrets"].values())


def test_no_client_makes_a_topic_by_asking_for_it() -> None:
    assert COMPOSE["services"]["kafka"]["environment"]["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


@pytest.mark.parametrize("name", sorted(OURS))
def test_each_command_is_one_that_leadsman_takes_with_these_settings(name: str) -> None:
    service = OURS[name]
    done = run([COMMAND, *service["command"], "--help"], environment_of(service))
    assert done.returncode == 0, done.stderr
    shown = run([COMMAND, "config"], environment_of(service))
    assert shown.returncode == 0, shown.stderr
    assert "bootstrap_servers: kafka:29092" in shown.stdout
    assert "port: 9300" in shown.stdout


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_service_has_no_rights_that_it_does_not_need(name: str) -> None:
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_what_a_service_waits_for_has_a_health_check() -> None:
    for service in COMPOSE["services"].values():
        for other, condition in service.get("depends_on", {}).items():
            assert condition == {"condition": "service_healthy"}
            assert "healthcheck" in COMPOSE["services"][other]


def test_kafka_reports_containers_and_this_machine_an_address_that_each_reaches() -> None:
    kafka = COMPOSE["services"]["kafka"]["environment"]
    advertised = dict(each.split("://") for each in kafka["KAFKA_ADVERTISED_LISTENERS"].split(","))
    listened = {each.split("://")[0] for each in kafka["KAFKA_LISTENERS"].split(",")}
    mapped = {each.split(":")[0] for each in kafka["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")}
    assert advertised == {"PLAINTEXT": "localhost:9092", "INTERNAL": "kafka:29092"}
    assert listened == mapped == {*advertised, "CONTROLLER"}


@pytest.mark.parametrize("status", [200, 503])
def test_a_health_check_ends_as_the_part_answers(status: int, tmp_path: Path) -> None:
    port = free_port()
    server = tmp_path / "server.py"
    server.write_text(
        "import http.server, sys\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        f"    def do_GET(self): self.send_response({status} if self.path == '/readyz' else 404); self.end_headers()\n"
        f"s = http.server.HTTPServer(('127.0.0.1', {port}), H); print('up', flush=True); s.serve_forever()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(server)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as answering:
        try:
            assert answering.stdout is not None
            answering.stdout.readline()
            kind, program, *arguments = OURS["work"]["healthcheck"]["test"]
            assert (kind, program) == ("CMD", "python")
            asked = [sys.executable, *(each.replace("9300", str(port)) for each in arguments)]
            assert (run(asked, dict(os.environ)).returncode == 0) == (status == 200)
        finally:
            answering.kill()


def _instructions() -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text()).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines) if word.isupper()]


def test_the_image_runs_the_command_as_a_user_without_rights() -> None:
    instructions = _instructions()
    last = instructions[max(number for number, each in enumerate(instructions) if each[0] == "FROM") :]
    reported = dict(last)
    assert reported["USER"] == "10001:10001"
    assert json.loads(reported["ENTRYPOINT"]) == ["leadsman"]
    assert [word for word, _ in last if word == "RUN"] == []


def test_every_image_that_ours_is_made_of_is_pinned_by_its_digest() -> None:
    bases = [rest.split()[0] for word, rest in _instructions() if word == "FROM"]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", bases[0])


def test_make_image_builds_what_compose_and_the_chart_run() -> None:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = run(["make", "--dry-run", "image", "ENGINE=engine", "EMBEDDED=yes"], outside)
    (tag,) = {service["image"] for service in OURS.values()}
    chart = yaml.safe_load((ROOT / "deploy/helm/leadsman/Chart.yaml").read_text())
    assert done.stdout.split() == ["engine", "build", "--build-arg", "EMBEDDED=yes", "--tag", tag, "."]
    assert tag == f"leadsman:{chart['appVersion']}"


def test_all_that_the_image_is_made_of_is_there_and_sent_to_the_engine() -> None:
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name
        for word, rest in _instructions()
        if word == "COPY" and "--from" not in rest
        for name in rest.split()[:-1]
    }
    assert copied == sent
    assert all((ROOT / name).exists() for name in copied)
