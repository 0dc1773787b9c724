"""Alertmanager 0.27 as one process on a free loopback port; it tells every change to one webhook at once."""

import json
import urllib.request
from pathlib import Path
from typing import Any, Final

from components.processes import HOST, Process, free_port
from components.programs.extras import alertmanager_program
from waiting import PATIENCE_SECONDS

GROUP_INTERVAL_SECONDS: Final = 1
CONFIG: Final = """\
route:
  receiver: hook
  group_by: ['...']
  group_wait: 0s
  group_interval: {interval}s
  repeat_interval: 1h
receivers:
  - name: hook
    webhook_configs:
      - url: {url}
        send_resolved: true
"""


class Alertmanager:
    """`alerts` is what it has; notifications go to `hook_url`."""

    def __init__(self, folder: Path, hook_url: str) -> None:
        port = free_port()
        self.url = f"http://{HOST}:{port}"
        config = folder / "alertmanager.yaml"
        config.write_text(CONFIG.format(url=hook_url, interval=GROUP_INTERVAL_SECONDS))
        flags = [f"--config.file={config}", f"--storage.path={folder / 'alertmanager'}", "--cluster.listen-address="]
        command = [str(alertmanager_program()), *flags, f"--web.listen-address={HOST}:{port}"]
        self.process = Process("Alertmanager", command, folder / "alertmanager.log")

    def start(self) -> None:
        self.process.start()
        self.process.await_ready(self._ready)

    def alerts(self) -> list[dict[str, Any]]:
        """Return the firing alerts that it reports."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts?active=true", timeout=PATIENCE_SECONDS) as answer:  # noqa: S310  # our own
            found: list[dict[str, Any]] = json.load(answer)
            return found

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=1) as answer:  # noqa: S310  # our own
                return bool(answer.status == 200)
        except OSError:
            return False
