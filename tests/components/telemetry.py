"""Reads the telemetry port of a running part of Leadsman."""

import json
import urllib.error
import urllib.request

from components.processes import HOST
from waiting import PATIENCE_SECONDS


def get(port: int, path: str) -> tuple[int, str]:
    """Status and text; 0 if nothing answers."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/{path}", timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()
    except OSError:
        return 0, ""


def is_ready(port: int) -> bool:
    return get(port, "readyz")[0] == 200


def why_not_ready(port: int) -> list[str]:
    """The reasons; none if it is ready, or does not answer."""
    status, text = get(port, "readyz")
    return list(json.loads(text)["reasons"]) if status == 503 else []
