"""What a receiver can take. Checked before anything is sent: an explained refusal beats a broken upload."""

from __future__ import annotations

from dataclasses import dataclass

from pixivflow.delivery.ports import DeliveryItem
from pixivflow.domain.work import AssetRole


@dataclass(frozen=True, slots=True)
class Limits:
    """The declared capabilities that matter for an upload. None is unlimited; sizes are bytes of all files together."""

    image: bool = True
    file: bool = True
    album: bool = True
    video: bool = True
    max_upload_bytes: int | None = None
    max_attachments: int | None = None
    min_send_interval_ms: int = 0


def limit_fault(item: DeliveryItem, limits: Limits) -> str | None:
    """Why the receiver cannot take the item, None when it can."""
    assets = [asset for _, asset in item.files]
    images = [asset for asset in assets if asset.role in (AssetRole.PAGE, AssetRole.EMBEDDED, AssetRole.COVER)]
    videos = [asset for asset in assets if asset.role is AssetRole.ANIMATION]
    size = sum(asset.bytes for asset in assets)
    if limits.max_upload_bytes is not None and size > limits.max_upload_bytes:
        return f"the work has {size} bytes, the receiver takes {limits.max_upload_bytes}"
    if limits.max_attachments is not None and len(assets) > limits.max_attachments:
        return f"the work has {len(assets)} files, the receiver takes {limits.max_attachments}"
    for allowed, found, what in (
        (limits.image, images, "images"),
        (limits.video, videos, "videos"),
        (limits.file, len(assets) > len(images) + len(videos), "files"),
        (limits.album, len(images) > 1, "several images in one message"),
    ):
        if found and not allowed:
            return f"the receiver does not take {what}"
    return None
