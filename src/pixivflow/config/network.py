"""Section `network`: time limits, retries, pacing and the proxy."""

from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field, SecretStr

from pixivflow.config.base import Millis, Name, Port, PositiveMillis, Section


class ProxyConfig(Section):
    """The proxy for everything that leaves this machine."""

    enabled: bool = Field(default=False, description="Whether the proxy is used.")
    host: Name | None = Field(default=None, description="Host name or address of the proxy.")
    port: Port | None = Field(default=None, description="Port of the proxy.")
    protocol: Literal["http", "https", "socks4", "socks5"] = Field(default="http", description="Kind of proxy.")
    username: str | None = Field(default=None, description="User name, where the proxy wants one.")
    password: SecretStr | None = Field(default=None, description="Password, where the proxy wants one.")

    @property
    def url(self) -> SecretStr | None:
        """The proxy as one address with its credentials, or None when there is none to use."""
        if not self.enabled or self.host is None or self.port is None:
            return None
        user = quote(self.username or "", safe="")
        secret = quote(self.password.get_secret_value(), safe="") if self.password else ""
        login = f"{user}:{secret}@" if secret else f"{user}@" if user else ""
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return SecretStr(f"{self.protocol}://{login}{host}:{self.port}")


class NetworkConfig(Section):
    """How requests to the site behave."""

    timeout_ms: PositiveMillis = Field(
        default=30_000, description="Time limit of one API request, ms. Usual: 1000 to 300000."
    )
    retries: Annotated[int, Field(ge=0, le=10)] = Field(
        default=3, description="Repeats after a network error, a time-out or a 5xx."
    )
    retry_delay: Millis = Field(default=1000, description="Step of the linear back-off between repeats, ms.")
    request_pacing_ms: Millis = Field(
        default=1000, description="Least time between two request starts of an account, ms; 0 turns pacing off."
    )
    proxy: ProxyConfig = Field(default_factory=ProxyConfig, description="The proxy.")
