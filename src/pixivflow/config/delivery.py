"""Section `delivery`: where works go once they are stored."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from pixivflow.config.base import (
    ROUTE_NAME_PATTERN,
    FieldValue,
    HttpUrl,
    Millis,
    Name,
    PositiveMillis,
    Section,
)

NonNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
CALLBACK_RETRY_BASE_MS = 30_000
"""The first pause of callbacks (Workflow Protocol 9.3), where the configuration names none."""

RouteName = Annotated[str, Field(pattern=ROUTE_NAME_PATTERN)]


class Capabilities(Section):
    """What a receiver can take. A value here can only tighten what the route type allows."""

    text: bool | None = Field(default=None, description="Takes plain text.")
    image: bool | None = Field(default=None, description="Takes images.")
    file: bool | None = Field(default=None, description="Takes files.")
    album: bool | None = Field(default=None, description="Takes several attachments in one message.")
    video: bool | None = Field(default=None, description="Takes videos.")
    max_text_length: NonNegative | None = Field(default=None, description="Longest text, characters.")
    max_caption_length: NonNegative | None = Field(default=None, description="Longest caption, characters.")
    max_upload_bytes: NonNegative | None = Field(default=None, description="Largest upload, bytes.")
    max_attachments_per_message: NonNegative | None = Field(default=None, description="Most attachments at once.")
    album_min: Positive | None = Field(default=None, description="Fewest attachments of an album.")
    album_max: Positive | None = Field(default=None, description="Most attachments of an album.")
    requires_two_phase_upload: bool | None = Field(default=None, description="Uploads first, then refers to them.")
    min_send_interval_ms: Millis | None = Field(default=None, description="Least time between two sends, ms.")
    truncate_policy: Literal["split", "truncate", "error"] | None = Field(
        default=None, description="What happens to a text that is too long."
    )
    idempotency_mechanism: Literal["none", "platform_key", "upstream_ledger"] | None = Field(
        default=None, description="How the receiver recognises a repeated delivery."
    )


class Ack(Section):
    """Where to find the answer in the receiver's JSON."""

    data_path: str = Field(default="data", description="Dotted path of the object that holds the fields below.")
    id_field: Name = Field(default="review_id", description="Id of the record (then `message_id`).")
    status_field: Name = Field(default="status", description="State of the record.")
    reused_field: Name = Field(default="reused", description="Whether an earlier record was found.")
    reason_field: Name = Field(default="reuse_reason", description="Why it was found.")
    key_field: Name = Field(default="matched_idempotency_key", description="The key it was found by.")


class SuccessRule(Section):
    """An old rule about answers, accepted and not used; `ack` and the status decide."""

    statuses: tuple[int, ...] | None = Field(default=None, description="Statuses that meant success.")
    json_path: str | None = Field(default=None, description="Dotted path that was looked at.")
    equals: FieldValue | None = Field(default=None, description="Value that was expected there.")


class HttpMultipartRoute(Section):
    """A receiver that takes a multipart form with the files in it."""

    type: Literal["httpMultipart"] = Field(description="Kind of route.")
    url: HttpUrl = Field(description="Where the form is sent.")
    method: Literal["POST", "PUT"] = Field(default="POST", description="HTTP method.")
    headers: Mapping[str, SecretStr] = Field(default_factory=dict, description="Headers of every request.")
    file_field: Name = Field(default="files", description="Form field of the files.")
    preview_file_field: Name = Field(default="previews", description="Form field of the previews.")
    fields: Mapping[str, FieldValue] = Field(
        default_factory=dict, description="Form fields; texts may hold `{{placeholders}}`."
    )
    array_format: Literal["comma", "repeat", "json"] = Field(
        default="comma", description="How a list becomes a form field."
    )
    readiness_url: HttpUrl | None = Field(
        default=None, description="Asked before a send; anything but 2xx puts the send off without using an attempt."
    )
    notification_url: HttpUrl | None = Field(
        default=None, description="Where notices for people go; without it there are none."
    )
    refetch_outcome_url: HttpUrl | None = Field(
        default=None, description="Where the outcome of a requested job without a work goes."
    )
    schedule_outcome_url: HttpUrl | None = Field(default=None, description="Where the outcome of a planned run goes.")
    auto_idempotency_key: bool = Field(default=True, description="Add the form field `idempotency_key`.")
    ack: Ack = Field(default_factory=Ack, description="Where to find the answer.")
    success: SuccessRule | None = Field(default=None, description="Old rule, not used.")
    max_attempts: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="Old limit; the outbox's own policy decides."
    )
    retry_delay_ms: Millis = Field(default=2000, description="Old pause, ms; the outbox's own policy decides.")
    capabilities: Capabilities = Field(default_factory=Capabilities, description="What the receiver can take.")


Route = HttpMultipartRoute
"""Every kind of route there is; a union once there is a second kind."""


class DeliveryConfig(Section):
    """Routes by name, and the patience of the outbox."""

    targets: Mapping[RouteName, Route] = Field(default_factory=dict, description="Route name to its definition.")
    delete_after_delivery: bool = Field(
        default=True, description="Delete works of `cache` targets once every route has confirmed them."
    )
    outbox_retry_base_ms: PositiveMillis = Field(
        default=300_000, description="First pause before a repeat, ms; while it is not set, 30000 for callbacks."
    )
    outbox_retry_max_ms: PositiveMillis = Field(default=21_600_000, description="Longest pause before a repeat, ms.")
    request_timeout_ms: PositiveMillis = Field(default=300_000, description="Time limit of one send, ms.")

    @property
    def callback_retry_base_ms(self) -> int:
        """The first pause of callbacks, ms: what was set for everything, else the protocol's."""
        return self.outbox_retry_base_ms if "outbox_retry_base_ms" in self.model_fields_set else CALLBACK_RETRY_BASE_MS

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.outbox_retry_max_ms < self.outbox_retry_base_ms:
            raise PydanticCustomError("range", "outboxRetryMaxMs must not be below outboxRetryBaseMs")
        return self
