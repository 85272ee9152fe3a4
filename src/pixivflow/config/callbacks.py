"""Section `callbacks`: what goes with the events that are sent to the address of a job, and where they may go."""

import base64
import binascii
import re
from ipaddress import ip_address, ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, WithJsonSchema
from pydantic_core import PydanticCustomError

from pixivflow.config.base import BaseUrl, Section

SIGNING_PREFIX = "whsec_"
SIGNING_KEY_BYTES = (24, 64)
"""Least and most bytes of a signing key (Standard Webhooks 1.0)."""

_HOST = re.compile(r"(\*\.)?[^\s/@:*?#%\[\]\\]+\Z")
_TOKEN = re.compile(r"[\x21-\x7e]+\Z")


def signing_key(secret: str) -> bytes:
    """The key inside a `whsec_…` text.

    Raises:
        ValueError: it is none; the text of the error holds nothing of it.
    """
    least, most = SIGNING_KEY_BYTES
    if secret.startswith(SIGNING_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(SIGNING_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if least <= len(key) <= most:
            return key
    raise ValueError(f"must be `{SIGNING_PREFIX}` and the base64 of {least} to {most} bytes")


def _check_secret(secret: SecretStr) -> SecretStr:
    try:
        signing_key(secret.get_secret_value())
    except ValueError as error:
        raise PydanticCustomError("signing_secret", "{why}", {"why": str(error)}) from None
    return secret


def _check_token(token: SecretStr) -> SecretStr:
    if not _TOKEN.match(token.get_secret_value()):
        raise PydanticCustomError("bearer_token", "must be visible ASCII characters without spaces")
    return token


def _check_prefix(url: str) -> str:
    if "@" in urlsplit(url).netloc:
        raise PydanticCustomError("url", "must not hold a user name or password")
    return url


def _check_host(text: str) -> str:
    if not _HOST.match(text):
        try:
            ip_address(text)
        except ValueError:
            raise PydanticCustomError("host", "must be a host, an IP address, or `*.` and a host") from None
    return text


def _check_network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        raise PydanticCustomError("network", "must be an IP address or network, such as 10.1.0.0/16") from None
    return text


_TEXT = WithJsonSchema({"type": "string"})

Prefix = Annotated[BaseUrl, AfterValidator(_check_prefix)]
BearerToken = Annotated[SecretStr, AfterValidator(_check_token)]
SigningSecret = Annotated[SecretStr, AfterValidator(_check_secret)]
HostPattern = Annotated[str, AfterValidator(_check_host), _TEXT]
NetworkText = Annotated[str, AfterValidator(_check_network), _TEXT]


class CallbackCredential(Section):
    """A bearer token for callbacks to addresses that begin with a prefix."""

    url_prefix: Prefix = Field(
        description="Scheme, host and port must be equal, the path is compared in whole segments; the longest wins."
    )
    token: BearerToken = Field(description="Sent as `Authorization: Bearer …`.")


class CallbacksConfig(Section):
    """Callbacks of jobs. The address always comes from the job, never from here."""

    allow_hosts: tuple[HostPattern, ...] = Field(
        default=(),
        description="Hosts, or `*.` and a host, a callback may go to; empty for any. "
        "Others are refused when a job is submitted.",
    )
    block_private: bool = Field(
        default=False,
        description="Refuse addresses that are not on the public internet, by what a name resolves to at connect time.",
    )
    allow_addresses: tuple[NetworkText, ...] = Field(
        default=(), description="Networks that stay open although `blockPrivate` is on, e.g. `10.1.0.0/16`."
    )
    credentials: tuple[CallbackCredential, ...] = Field(default=(), description="Bearer tokens by address prefix.")
    signing_secrets: tuple[SigningSecret, ...] = Field(
        default=(),
        description="Standard Webhooks secrets (`whsec_…`); each signs every callback, so that two can overlap.",
    )

    @property
    def secrets(self) -> tuple[SecretStr, ...]:
        """Everything here that must never be shown."""
        return (*(credential.token for credential in self.credentials), *self.signing_secrets)

    @property
    def signing_keys(self) -> tuple[bytes, ...]:
        """The keys inside the signing secrets."""
        return tuple(signing_key(secret.get_secret_value()) for secret in self.signing_secrets)
