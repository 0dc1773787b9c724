"""Parses the kubelet's texts about image garbage collection (rules: image-gc-loop, image-gc-messages,
invalid-capacity), of all versions.

Texts are hostile: nothing here raises, and no number is given that the text does not have. Words for result and
reason are those of KEP-6053.
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.events.messages import message_body, whole_number

Result: TypeAlias = Literal["success", "error", "partial", "noop"]
Reason: TypeAlias = Literal[
    "stats_error",
    "invalid_capacity",
    "delete_error",
    "insufficient_freed",
    "detect_error",
    "runtime_error",
    "unknown",
]

_WORDS: Final = {
    "stats_error": "the usage of the image file system cannot be read",
    "invalid_capacity": "the kubelet reads capacity 0 of the image file system",
    "delete_error": "deleting images fails",
    "insufficient_freed": "too little is freed",
    "detect_error": "the images in use cannot be listed",
    "runtime_error": "the container runtime does not answer",
}


def because(reason: str, text: str = "") -> str:
    """Return the text after "because"; for an unknown reason it quotes `text`."""
    return _WORDS.get(reason, f'of "{text}"' if text else "of what its message names")


class ImageGcFailure(NamedTuple):
    """A failed run of image GC; a number is None if the text does not have it."""

    result: Result
    """`partial` if something was freed, `noop` if nothing was eligible, `error` if the run was aborted."""
    reason: Reason
    wanted_bytes: int | None = None
    """None since 1.35, except for deletion errors."""
    freed_bytes: int | None = None
    usage_percent: int | None = None
    """1.35 and later."""
    text: str = ""
    """The start of the runtime's error, or of an unknown text."""


_MOST_TEXT: Final = 300
_NO_ANSWER: Final = re.compile(
    r"(?:rpc error: code = (?:Unavailable|DeadlineExceeded|Canceled|Unknown) desc = |operation timeout: |Cannot )"
    r"[^\n]{0,400}?(?:connection error|context deadline exceeded|context canceled|transport is closing|dial unix"
    r"|connection refused|connect to the Docker daemon|error while dialing|operation timeout)",
    re.IGNORECASE,
)
_NUMBER: Final = "([0-9]{1,19})"
_FREED_LESS: Final = (
    # seen 1.5 to 1.25; the oldest without "bytes"
    re.compile(
        r"failed to garbage collect required amount of images\. "
        rf"Wanted to free {_NUMBER}(?: bytes)?, but freed {_NUMBER}(?: bytes)?"
    ),
    # 1.26 to 1.34
    re.compile(
        r"Failed to garbage collect required amount of images\. "
        rf"Attempted to free {_NUMBER} bytes, but only found {_NUMBER} bytes eligible to free\."
    ),
)
# 1.35 and later; where the error was taken for a printf format, "% o" is damaged.
_INSUFFICIENT: Final = re.compile(
    r"Insufficient free disk space on the node's image filesystem "
    r"\((100|[0-9]{1,2})%(?: o|!o\(MISSING\))f [0-9]{1,15}(?:\.[0-9])? (?:B|KiB|MiB|GiB|TiB) used\)\. "
    rf"Failed to free sufficient space by deleting unused images \(freed {_NUMBER} bytes\)\."
)
_INVALID_CAPACITY: Final = re.compile(
    r"invalid capacity 0 on (?:image filesystem|device \"[^\"]{0,4096}\" at mount point \"[^\"]{0,4096}\")"
)
_DELETE_ERRORS: Final = re.compile(
    rf"wanted to free (?:{_NUMBER}(?: bytes)?, but freed {_NUMBER}(?: bytes)? space with"
    r"|images older than [0-9.hmsµn]{1,30}, encountered) errors in image deletion: "
)
"""Texts for space, until 1.6 without "bytes", and for age (1.29 and later), which has no numbers."""
_OF_EACH_RUN: Final = re.compile(
    rf"wanted to free {_NUMBER}, but freed {_NUMBER} space with errors in image deletion: "
)
_DETECT_ERRORS: Final = re.compile(r"(?:get container status: )?rpc error: code = \w{1,40} desc = ")
"""Excludes errors of statistics and of deletions, which have words before them."""
_STATS_ERRORS: Final = (
    "get filesystem info: ",
    "imageFs information is unavailable",
    "failed to get imageFs info: ",
    "failed to get image stats: ",
    "missing image stats: ",
    "no imagefs label for configured runtime",
    "unable to find data in memory cache",
    "unable to find data for container ",
    "failed to get device for dir ",
    "failed to find information for the filesystem labeled ",
    "non-existent label ",
    "cannot find filesystem info for device ",
)


def parse_image_gc(reason: str, message: str) -> ImageGcFailure | None:
    """Parse an Event of reason FreeDiskSpaceFailed, InvalidDiskCapacity or ImageGCFailed; None for any other reason.

    If its text is unknown, the reason alone decides.
    """
    if reason not in _BY_REASON_ALONE:
        return None
    alone = _BY_REASON_ALONE[reason]
    return parse_error(message) or (
        alone._replace(text=message_body(message)[:_MOST_TEXT]) if reason == _FAILED else alone
    )


def is_consecutive(reason: str, message: str) -> bool:
    """Tell whether an Event shows that the previous run failed, too; ImageGCFailed does since 1.7."""
    return reason == _FAILED and _OF_EACH_RUN.match(message_body(message)) is None


def parse_error(message: str) -> ImageGcFailure | None:
    """Parse an error text of image GC from any event or log; None for an unknown one."""
    text = message_body(message)
    if _INVALID_CAPACITY.fullmatch(text):
        return ImageGcFailure("error", "invalid_capacity")
    if match := _DELETE_ERRORS.match(text):
        wanted, freed = (None if each is None else whole_number(each) for each in match.groups())
        runtime_error = text[match.end() :].strip("[]")[:_MOST_TEXT]
        return ImageGcFailure("error", "delete_error", wanted_bytes=wanted, freed_bytes=freed, text=runtime_error)
    before = next((each for each in _STATS_ERRORS if text.startswith(each)), "")
    if _NO_ANSWER.match(text.removeprefix(before)):
        return ImageGcFailure("error", "runtime_error", text=text[:_MOST_TEXT])
    if text.startswith(_STATS_ERRORS):
        return ImageGcFailure("error", "stats_error", text=text[:_MOST_TEXT])
    if _DETECT_ERRORS.match(text):
        return ImageGcFailure("error", "detect_error", text=text[:_MOST_TEXT])
    return _freed_less(text) or _insufficient(text)


_FAILED: Final = "ImageGCFailed"
_BY_REASON_ALONE: Final = {
    "FreeDiskSpaceFailed": ImageGcFailure("partial", "insufficient_freed"),
    "InvalidDiskCapacity": ImageGcFailure("error", "invalid_capacity"),
    _FAILED: ImageGcFailure("error", "unknown"),
}


def _freed_less(text: str) -> ImageGcFailure | None:
    for pattern in _FREED_LESS:
        if match := pattern.fullmatch(text):
            freed = whole_number(match[2])
            return ImageGcFailure(
                _result(freed), "insufficient_freed", wanted_bytes=whole_number(match[1]), freed_bytes=freed
            )
    return None


def _insufficient(text: str) -> ImageGcFailure | None:
    match = _INSUFFICIENT.match(text)
    if match is None:
        return None
    freed = whole_number(match[2])
    return ImageGcFailure(_result(freed), "insufficient_freed", freed_bytes=freed, usage_percent=int(match[1]))


def _result(freed_bytes: int | None) -> Result:
    return "noop" if freed_bytes == 0 else "partial"
