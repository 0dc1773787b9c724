"""What a running part of Leadsman answers at `/readyz`."""

import json
import urllib.error
import urllib.request

from components.processes import HOST


def why_not_ready(port: int) -> str:
    """The reasons of the part at this telemetry port; empty where it is ready, or does not answer."""
    try:
        urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=10).close()
    except urllib.error.HTTPError as refused:
        with refused:
            return "; ".join(json.load(refused)["reasons"])
    except OSError:
        return ""
    return ""
