"""Receive Leadsman's alerts by webhook; act on none that is forged, and on none twice (docs/alerts.md#webhook).

WEBHOOK_SECRET=... python examples/webhook_receiver.py [PORT]
"""
# ruff: noqa: INP001, T201 - an example is not a package, and prints

import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

SECRET = os.environ["WEBHOOK_SECRET"].encode()
WINDOW_SECONDS = 300
LIMIT_BYTES = 1024 * 1024
SIGNATURE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")


def genuine(header: str, body: bytes, now: float) -> str:
    """The digest of a request that Leadsman signed within the window; empty for any other."""
    found = SIGNATURE.fullmatch(header)
    if not found or abs(now - int(found[1])) > WINDOW_SECONDS:
        return ""
    wanted = hmac.new(SECRET, found[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    return wanted if hmac.compare_digest(wanted, found[2]) else ""  # in constant time, unlike ==


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds: a stranger who connects and sends nothing holds up no alert
    lock = Lock()
    seen: dict[str, float] = {}  # noqa: RUF012 - digests of the window: within it a replay has a valid signature
    stands: dict[str, tuple[str, str]] = {}  # noqa: RUF012 - by fingerprint

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > LIMIT_BYTES:
            return self.answer(413)
        body, now = self.rfile.read(int(size)), time.time()
        digest = genuine(self.headers.get("X-Leadsman-Signature", ""), body, now)
        if not digest:
            return self.answer(401)
        with self.lock:
            for old in [each for each, at in self.seen.items() if now - at > 2 * WINDOW_SECONDS]:
                del self.seen[old]
            if digest not in self.seen:
                self.seen[digest] = now
                self.act(json.loads(body))
        return self.answer(204)

    def act(self, alert: dict) -> None:
        """Once for each change: a message that was sent again, later, has another signature."""
        change = (alert["status"], alert["startsAt"])
        if self.stands.get(alert["fingerprint"]) != change:
            self.stands[alert["fingerprint"]] = change
            print(alert["status"], alert["labels"]["alertname"], flush=True)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing, because a forged request could choose the words."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8000), Receiver).serve_forever()
