"""Explains why no Kafka broker can be used, and what to do, which aiokafka's own error lacks."""

import ssl
from typing import Final

from aiokafka.errors import (
    BrokerResponseError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    UnsupportedSaslMechanismError,
)

from common.errors import FilesUnusable
from common.text import plain
from ingest.kafka.aiokafka_fixes import Options, probe

TIMEOUT_MS: Final = 5_000

_CLOSED: Final = (
    "it closed the connection. Check kafka.security_protocol, and kafka.certificate_file if it requires one"
)
_REFUSALS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (
        SaslAuthenticationFailed,
        "it rejected the user. Check kafka.username, kafka.password or password_file, and kafka.sasl_mechanism",
    ),
    (UnsupportedSaslMechanismError, "it does not support the mechanism. Check kafka.sasl_mechanism"),
    (
        TopicAuthorizationFailedError,
        "the user may not use the topics. Allow describe, create, read and write, or check kafka.topic_prefix",
    ),
    (KafkaError, _CLOSED),
    (ConnectionResetError, _CLOSED),
)


async def why_unreachable(bootstrap_servers: str, options: Options) -> str:
    """Return the error of the first broker that was tried; empty if it answers."""
    for server in bootstrap_servers.split(","):
        try:
            await probe(server, TIMEOUT_MS, options)
        except (KafkaError, OSError, TimeoutError, FilesUnusable) as error:
            return f"{plain(server)}: {explain(error)}"
    return ""


def explain(error: BaseException) -> str:
    """Describe a failed connection, with the setting to check, and without passwords."""
    if isinstance(error, FilesUnusable):
        return f"kafka.{error}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({plain(error.verify_message)}). Check kafka.ca_file and the name"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({plain(error.reason)}). Check kafka.security_protocol and kafka.certificate_file"
    for kind, text in _REFUSALS:
        if isinstance(error, kind):
            return text
    text = plain(_text(error))
    cause = f" ({text})" if text else " in time" if _is_late(error) else ""
    return f"it does not answer{cause}. Check kafka.bootstrap_servers"


def explain_refusal(error: BaseException) -> str:
    if isinstance(error, TopicAuthorizationFailedError):
        return explain(error)
    described = error.description if isinstance(error, BrokerResponseError) else _text(error)
    return plain(" ".join(described.split())) or ("no answer in time" if _is_late(error) else "no reason given")


def _text(error: BaseException) -> str:
    """Return the error's own text, without aiokafka's class name and Python's error number."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error.args[0]) if error.args else ""


def _is_late(error: BaseException) -> bool:
    return isinstance(error, TimeoutError | KafkaTimeoutError)
