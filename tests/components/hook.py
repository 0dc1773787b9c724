"""An HTTP server that receives alerts in tests, and keeps what it is sent."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Hook:
    """Answers `status` after `delay_seconds`, and 500 to the alert `failing`."""

    def __init__(self, status: int = 200, delay_seconds: float = 0.0, failing: str = "") -> None:
        self.status = status
        self.failing = failing
        self.delay_seconds = delay_seconds
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(hook.delay_seconds)  # a slow receiver is what it plays
                fails = hook.failing and body["labels"]["alertname"] == hook.failing
                status = 500 if fails else hook.status
                if status == 200:
                    hook.bodies.append(body)
                    hook.keys.append(self.headers.get("Idempotency-Key", ""))
                self.send_response(status)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name in http.server
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def statuses(self) -> Counter[tuple[str, str]]:
        """Return how often each alert fired and was resolved; messages with a known key count once."""
        seen = dict(zip(self.keys, self.bodies, strict=True))
        return Counter((body["labels"]["alertname"], body["status"]) for body in seen.values())
