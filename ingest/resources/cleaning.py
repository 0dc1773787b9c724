"""Removes secrets from objects: values of variables, commands, annotations, credentials in texts.

No rule reads any of these, so the types of `ingest.model.objects` lack them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from common.scrub import REDACTED, is_secret, scrub
from ingest.messages.modes import Mode

_DROPPED_LISTS: Final = frozenset({"command", "args", "httpHeaders", "managedFields", "sysctls"})
"""Commands, including those of probes and hooks, headers that a probe sends, and kernel settings."""
_DROPPED_MAPS: Final = frozenset(
    {
        *("volumeAttributes", "parameters", "attachmentMetadata", "options", "staticPodURLHeader"),
        *("data", "stringData", "binaryData"),
    }
)
"""Parameters and answers of a volume's driver, the headers with which a kubelet asks for static pods, and the content
of a Secret that was in a dump."""
DROPPED: Final = _DROPPED_LISTS | _DROPPED_MAPS
"""Fields that are always dropped."""
_MESSAGES: Final = frozenset({"message", "note"})
"""Messages of Events, conditions and statuses, which a reason accompanies."""


class Cleaner:
    """Cleans decoded JSON: keeps the annotations that `keeps` accepts, and filters reasons and messages by `mode`."""

    def __init__(self, keeps: Callable[[str], bool], mode: Mode) -> None:
        self._keeps = keeps
        self._mode = mode
        self._cleaners: dict[str, Callable[[Any], Any]] = {
            "env": self._env,
            "annotations": self._annotations,
            "terminated": partial(self._without, "message"),  # a container's own output, or the end of its log
            "httpGet": partial(self._without, "path"),  # a probe's or hook's path or query can contain a key
            **dict.fromkeys(("labels", "matchLabels", "nodeSelector"), self._labels),
        }

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            return scrub(value)
        if isinstance(value, list):
            return [self(each) for each in value]
        if isinstance(value, dict):
            reason, named = value.get("reason"), value.get("name")
            hides = isinstance(named, str) and is_secret(named)  # a variable of a container, anywhere
            return {
                name: self._text(name, each, reason if isinstance(reason, str) else "")
                if isinstance(each, str)
                else self._cleaners.get(name, self)(each)
                for name, each in value.items()
                if not (_is_dropped(name, each) or (hides and name == "value"))
            }
        return value

    def _text(self, name: str, text: str, reason: str) -> Any:
        if name in _MESSAGES:
            return self._mode.message(reason, text)
        if name == "reason":
            return self._mode.reason(text)
        return REDACTED if is_secret(name) else self._cleaners.get(name, self)(text)

    def _labels(self, value: Any) -> Any:
        """Clean only the values: a label's key, such as `token` or `env`, is not the name of a field."""
        return {name: self(each) for name, each in value.items()} if isinstance(value, dict) else self(value)

    def _env(self, value: Any) -> Any:
        """Keep the name and the source of each variable, and drop its value."""
        if not isinstance(value, list):
            return self(value)
        return [
            {name: self(part) for name, part in each.items() if name != "value"}
            if isinstance(each, dict)
            else REDACTED
            for each in value
        ]

    def _annotations(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return None
        return {name: self(text) for name, text in value.items() if self._keeps(name)}

    def _without(self, dropped: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return self(value)
        return {name: self(part) for name, part in value.items() if name != dropped}


def _is_dropped(name: str, value: Any) -> bool:
    """Decide by name and shape: a label with one of these names has a text as value, and is kept."""
    return (isinstance(value, list) and name in _DROPPED_LISTS) or (isinstance(value, dict) and name in _DROPPED_MAPS)
