"""From the configuration to the settings of each room: the half of the bootstrap that starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from pixivflow.collect.names import Organisation
from pixivflow.collect.retry import RetryPolicy
from pixivflow.collect.settings import CollectSettings
from pixivflow.config import Config
from pixivflow.config.convert import to_domain_target
from pixivflow.config.delivery import Ack, Capabilities
from pixivflow.config.delivery import HttpMultipartRoute as MultipartConfig
from pixivflow.config.targets import TargetConfig
from pixivflow.delivery.answer import AckPaths
from pixivflow.delivery.callback import CallbackSender, CallbackSettings
from pixivflow.delivery.egress import EgressPolicy, url_fault
from pixivflow.delivery.limits import Limits
from pixivflow.delivery.multipart import HttpMultipartRoute, MultipartSettings
from pixivflow.delivery.outcome import OutcomePlace, OutcomeSender
from pixivflow.delivery.ports import Route
from pixivflow.domain.recovery import SoftLimits
from pixivflow.engine.catalog import Budgets, ClockSettings, Entry, PlanView
from pixivflow.engine.clock import Clock
from pixivflow.library.layout import JST, Layout
from pixivflow.sources.pixiv.config import (
    DEFAULT_USER_AGENT,
    PUBLIC_CLIENT_ID,
    PUBLIC_CLIENT_SECRET,
    PixivSourceConfig,
)
from pixivflow.sources.pixiv.endpoints import Endpoints
from pixivflow.sources.pixiv.source import PixivSource
from pixivflow.sources.ports import AccountStore

EXIT_USAGE, EXIT_REFUSED, EXIT_AUTH, EXIT_FAILURE, EXIT_TEMPFAIL = 2, 4, 5, 1, 75


class StartupError(Exception):
    """Nothing was started. The text is one clear line that says what to do."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILURE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class ConfigCatalog:
    """`engine.catalog.Catalog` over a configuration. Date placeholders are resolved anew each time it is asked."""

    config: Config
    today: Callable[[], date]

    @property
    def account(self) -> str:
        """The configured account."""
        return self.config.pixiv.account

    @property
    def places(self) -> int:
        """How many jobs of the account may run at the same time."""
        return self.config.account_concurrency

    @property
    def budgets(self) -> Budgets:
        """The liveness budgets."""
        config = self.config
        return Budgets(config.queued_timeout_ms, config.stall_timeout_ms, config.default_deadline_ms)

    @property
    def clock(self) -> ClockSettings:
        """Who keeps the plans' times."""
        runtime = self.config.scheduler_runtime
        return ClockSettings(runtime.mode, timedelta(minutes=runtime.trigger.grace_minutes))

    def plans(self) -> Sequence[PlanView]:
        """Plans that may run."""
        today = self.today()
        return [
            PlanView(
                plan.id,
                [self._entry(target, today) for target in plan.targets],
                plan.timeout_ms,
                plan.cron,
                plan.timezone,
            )
            for plan in self.config.enabled_plans()
        ]

    def _entry(self, target: TargetConfig, today: date) -> Entry:
        policy = target.no_match_policy
        names = self.config.routes_of(target)
        route = self.config.route(names[0]) if names else None
        return Entry(
            to_domain_target(target, today=today, default_scan_limit=self.config.download.candidate_scan_limit),
            self.config.wired_for_manual(target),
            # Whoever asks for a recovery waits to hear of it where planned runs are told of.
            None if route is not None and route.schedule_outcome_url else "schedule_outcome_not_configured",
            SoftLimits(
                scan=target.candidate_scan_limit,
                lookback_days=policy.lookback_days if policy is not None else None,
                language_candidates=target.language_candidate_limit
                if "language_candidate_limit" in target.model_fields_set
                else None,
            ),
        )

    def callback_fault(self, url: str) -> str | None:
        """Why events must not be sent to an address."""
        return url_fault(url, egress_policy(self.config))


def build_source(
    config: Config, store: AccountStore, clock: Clock, on_wait: Callable[[str, float], None] | None = None
) -> PixivSource:
    """The account's source as configured; `on_wait` is told why and how long it waits."""
    pixiv, network, download = config.pixiv, config.network, config.download
    given = pixiv.endpoints
    plain = Endpoints()
    proxy = network.proxy.url
    settings = PixivSourceConfig(
        refresh_token=pixiv.usable_refresh_token,
        account=pixiv.account,
        endpoints=Endpoints(
            api=given.api or plain.api,
            oauth=given.oauth or plain.oauth,
            web=given.web or plain.web,
            media=given.media or plain.media,
        ),
        timeout_s=network.timeout_ms / 1000,
        retries=network.retries,
        pacing_s=network.request_pacing_ms / 1000,
        media_connections=download.connections,
        proxy=proxy.get_secret_value() if proxy else None,
        read_only_auth=pixiv.auth_read_only,
        client_id=pixiv.client_id or PUBLIC_CLIENT_ID,
        client_secret=pixiv.client_secret.get_secret_value() if pixiv.client_secret else PUBLIC_CLIENT_SECRET,
        user_agent=pixiv.user_agent or DEFAULT_USER_AGENT,
    )
    return PixivSource(settings, store, clock, on_wait=on_wait)


def collect_settings(config: Config) -> CollectSettings:
    """Bounds of collecting as configured."""
    illustrations, novels = library_folders(config)
    download, storage = config.download, config.storage
    return CollectSettings(
        concurrency=download.concurrency,
        max_fallback_stages=download.max_fallback_stages,
        retry=RetryPolicy(max_retries=download.max_retries),
        ugoira_formats=tuple(download.ugoira_formats),
        illustrations=Organisation(Layout(storage.illustration_organization), illustrations),
        novels=Organisation(Layout(storage.novel_organization), novels),
    )


def library_folders(config: Config) -> tuple[str, str]:
    """The folders of both kinds below the library's root.

    Raises:
        StartupError: one of them lies outside the library; nothing is ever written there.
    """
    return (
        _below(config.library_dir, config.illustration_dir, "storage.illustrationDirectory"),
        _below(config.library_dir, config.novel_dir, "storage.novelDirectory"),
    )


def build_routes(config: Config, *, now_ms: Callable[[], int]) -> dict[str, Route]:
    """Every configured route by its name. The caller closes them."""
    timeout_ms = config.delivery.request_timeout_ms
    return {
        name: HttpMultipartRoute(name, multipart_settings(route, timeout_ms=timeout_ms), now_ms=now_ms)
        for name, route in config.delivery.targets.items()
    }


def egress_policy(config: Config) -> EgressPolicy:
    """Where callbacks may go."""
    given = config.callbacks
    return EgressPolicy(given.allow_hosts, given.block_private, given.allow_addresses)


def build_callbacks(config: Config, *, now_ms: Callable[[], int]) -> CallbackSender:
    """The sender of callbacks. The caller closes it."""
    given = config.callbacks
    settings = CallbackSettings(
        policy=egress_policy(config),
        credentials=tuple((entry.url_prefix, entry.token.get_secret_value()) for entry in given.credentials),
        signing_keys=given.signing_keys,
    )
    return CallbackSender(settings, now_ms=now_ms)


def build_outcomes(config: Callable[[], Config], *, now_ms: Callable[[], int]) -> OutcomeSender:
    """The sender of outcomes, which reads the address and headers of a route when it sends. The caller closes it."""

    def place(name: str) -> OutcomePlace | None:
        route = config().route(name)
        url = (route.refetch_outcome_url or "").strip() if route is not None else ""
        if route is None or not url:
            return None
        return OutcomePlace(url, {key: value.get_secret_value() for key, value in route.headers.items()})

    return OutcomeSender(place, now_ms=now_ms)


def multipart_settings(route: MultipartConfig, *, timeout_ms: int) -> MultipartSettings:
    """The settings of one `httpMultipart` route; secrets are revealed here and nowhere later shown."""
    return MultipartSettings(
        url=route.url,
        method=route.method,
        headers={name: value.get_secret_value() for name, value in route.headers.items()},
        file_field=route.file_field,
        preview_file_field=route.preview_file_field,
        fields=dict(route.fields),
        array_format=route.array_format,
        readiness_url=route.readiness_url,
        auto_idempotency_key=route.auto_idempotency_key,
        ack=_ack(route.ack),
        limits=_limits(route.capabilities),
        timeout_ms=timeout_ms,
    )


def jst_day(clock: Clock) -> date:
    """Today in Japan, the site's day."""
    return datetime.fromtimestamp(clock.now(), UTC).astimezone(JST).date()


def _ack(ack: Ack) -> AckPaths:
    return AckPaths(
        data_path=ack.data_path,
        id_field=ack.id_field,
        status_field=ack.status_field,
        reused_field=ack.reused_field,
        reason_field=ack.reason_field,
        key_field=ack.key_field,
    )


def _limits(declared: Capabilities) -> Limits:
    """A multipart receiver is unlimited until its configuration says otherwise."""
    return Limits(
        image=declared.image is not False,
        file=declared.file is not False,
        album=declared.album is not False,
        video=declared.video is not False,
        max_upload_bytes=declared.max_upload_bytes,
        max_attachments=declared.max_attachments_per_message,
        min_send_interval_ms=declared.min_send_interval_ms or 0,
    )


def _below(root: Path, folder: Path, key: str) -> str:
    try:
        below = folder.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise StartupError(f"{key} must lie inside storage.downloadDirectory ({root})", EXIT_USAGE) from None
    return "" if below == "." else below
