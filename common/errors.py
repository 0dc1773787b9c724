"""Errors that every package raises: a record that makes no sense, and problems that only a person can fix.

The message of such a problem is one sentence for that person: what is wrong, where, and what to do.
"""


class WrongUsage(ValueError):
    """An option, an argument or a setting cannot be used as it was given."""


class SourceUnusable(ValueError):
    """A file, a cluster or this machine cannot be read as a source."""


class HeldElsewhere(SourceUnusable):
    """Another process uses the resource, and only one may."""


class KubeconfigUnusable(SourceUnusable):
    """The address of a cluster, or the credentials for it, cannot be read."""


class ContextUnknown(KubeconfigUnusable):
    """The kubeconfig has no context of that name."""


class CredentialsRefused(SourceUnusable):
    """The API server does not accept the credentials: an expired token, or an untrusted certificate."""


class AddressTaken(SourceUnusable):
    """An address cannot be listened on."""


class KafkaUnusable(Exception):
    """Kafka cannot be reached, or is not set up correctly."""


class FilesUnusable(ValueError):
    """A file of certificates or passwords cannot be used; the message names it."""


class BadRecord(ValueError):
    """A record that cannot be decoded or makes no sense, for the dead letters. `error_type` has few possible
    values.
    """

    def __init__(self, error_type: str, reason: str) -> None:
        super().__init__(reason)
        self.error_type = error_type


class BadValue(BadRecord):
    """An impossible value in a record; raised by `streams.rules`."""

    def __init__(self, reason: str) -> None:
        super().__init__("wrong_value", reason)
