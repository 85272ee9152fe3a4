"""PixivFlow: an unattended collector for Pixiv with a Job API."""

from pixivflow._version import __version__

__all__ = ["__version__"]
