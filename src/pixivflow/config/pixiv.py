"""Section `pixiv`: the account, and where the site is."""

from pydantic import Field, SecretStr

from pixivflow.config.base import BaseUrl, Name, Section

TOKEN_PLACEHOLDER = "YOUR_REFRESH_TOKEN"  # noqa: S105 - the text the example files carry instead of a token
MIN_TOKEN_LENGTH = 10


def is_real_token(text: str | None) -> bool:
    """Whether a refresh token can be one: not empty, not the placeholder of the examples, at least ten characters."""
    token = (text or "").strip()
    return token != TOKEN_PLACEHOLDER and len(token) >= MIN_TOKEN_LENGTH


class Endpoints(Section):
    """Base addresses that stand in for the site's hosts; a request keeps its path and query."""

    api: BaseUrl | None = Field(default=None, description="Stands in for app-api.pixiv.net.")
    oauth: BaseUrl | None = Field(default=None, description="Stands in for oauth.secure.pixiv.net.")
    web: BaseUrl | None = Field(default=None, description="Stands in for www.pixiv.net.")
    media: BaseUrl | None = Field(default=None, description="Stands in for i.pximg.net and s.pximg.net.")


class PixivConfig(Section):
    """The account that asks."""

    client_id: Name | None = Field(default=None, description="OAuth client id; the mobile app's when not given.")
    client_secret: SecretStr | None = Field(
        default=None, description="OAuth client secret; the mobile app's when not given."
    )
    device_token: str = Field(default="pixiv", description="Device token sent with a refresh.")
    refresh_token: SecretStr | None = Field(
        default=None,
        description="Refresh token of the account. Placeholders and texts under ten characters count as missing.",
    )
    user_agent: Name | None = Field(
        default=None, description="User-Agent of every request; when not given, the one that fits the other headers."
    )
    account_id: str = Field(
        default="default", description="Name of the account in limits and in the Job API; blank means `default`."
    )
    auth_read_only: bool = Field(
        default=False, description="Never ask for new tokens: another process sharing the account keeps them fresh."
    )
    endpoints: Endpoints = Field(default_factory=Endpoints, description="Other addresses for the site, e.g. a sandbox.")

    @property
    def account(self) -> str:
        """The account's name, trimmed; blank counts as `default`."""
        return self.account_id.strip() or "default"

    @property
    def usable_refresh_token(self) -> str | None:
        """The refresh token in clear if it can be a real one, else None."""
        token = self.refresh_token.get_secret_value().strip() if self.refresh_token else None
        return token if is_real_token(token) else None
