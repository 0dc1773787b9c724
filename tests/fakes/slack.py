"""Slack's Web API as its documentation describes it: a channel, its history, and the limits of a bot."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web

from fakes.serving import serving

CHANNEL: Final = "C0123456789"
TOKEN: Final = "xoxb-2468-secret-of-the-bot"  # noqa: S105  # of this fake
BOT: Final = "B01"


class Slack:
    """Keeps the messages of a channel, and answers 200 to what it refuses.

    A bot reads the history of a channel, the newest first, which has a reply only if that was broadcast.
    """

    def __init__(self, scopes: frozenset[str] = frozenset({"chat:write", "channels:history"})) -> None:
        self.messages: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.bodies: list[str] = []
        self.refusals: list[tuple[int, str, Mapping[str, str]]] = []
        """Status, error and headers of the next answers to `chat.` methods."""
        self.loses: int = 0
        """So many messages are taken, but their answer fails."""
        self.page = 100
        self.url = ""
        self._scopes = scopes
        self._made = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Slack"]:
        async with serving(self._answer) as self.url:
            yield self

    def texts(self) -> list[str]:
        """Return what the channel shows, the oldest first; a reply is indented."""
        return [
            ("  " if "thread_ts" in each else "") + each["blocks"][0]["text"]["text"]
            for each in self.messages.values()
        ]

    def heads(self) -> list[str]:
        return [each.split(":")[0].replace("*", "") for each in self.texts()]

    async def _answer(self, request: web.Request) -> web.Response:
        method = request.path.removeprefix("/")
        self.calls.append(method)
        self.bodies.append(await request.text())
        is_json = request.content_type == "application/json"
        given = json.loads(self.bodies[-1]) if is_json else dict(await request.post())
        is_known = request.headers.get("Authorization") == f"Bearer {TOKEN}"
        if not is_known or (method.startswith("chat.") and self.refusals):
            return _refused(*self.refusals.pop(0) if is_known else (200, "invalid_auth", {}))
        if method == "auth.test":
            return web.json_response({"ok": True, "user_id": "U01", "bot_id": BOT})
        if given.get("channel") != CHANNEL:
            return _refused(200, "channel_not_found")
        known = {
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "conversations.history": self._history,
        }
        return known[method](given)

    def _post(self, given: dict[str, Any]) -> web.Response:
        self._made += 1
        ts = f"{1_767_225_600 + self._made}.000100"
        if "thread_ts" in given and given["thread_ts"] not in self.messages:
            return _refused(200, "thread_not_found")
        self.messages[ts] = {"type": "message", "bot_id": BOT, "ts": ts, **given}
        if self.loses:
            self.loses -= 1
            return web.Response(status=500)
        return web.json_response({"ok": True, "channel": CHANNEL, "ts": ts, "message": self.messages[ts]})

    def _update(self, given: dict[str, Any]) -> web.Response:
        if self.messages.get(given["ts"], {}).get("bot_id") != BOT:
            return _refused(200, "cant_update_message" if given["ts"] in self.messages else "message_not_found")
        self.messages[given["ts"]] |= given
        return web.json_response({"ok": True, "channel": CHANNEL, "ts": given["ts"], "text": given["text"]})

    def _history(self, given: dict[str, Any]) -> web.Response:
        if "channels:history" not in self._scopes:
            return _refused(200, "missing_scope")
        listed = [each for each in self.messages.values() if "thread_ts" not in each or each.get("reply_broadcast")]
        listed.reverse()
        start = int(given.get("cursor", 0))
        end = start + min(int(given.get("limit", 100)), self.page)
        hidden = () if given.get("include_all_metadata") == "true" else ("metadata",)
        page = [{name: each[name] for name in each.keys() - hidden} for each in listed[start:end]]
        cursor = str(end) if end < len(listed) else ""
        return web.json_response(
            {"ok": True, "messages": page, "has_more": bool(cursor), "response_metadata": {"next_cursor": cursor}}
        )


def _refused(status: int, error: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response({"ok": False, "error": error}, status=status, headers=headers)
