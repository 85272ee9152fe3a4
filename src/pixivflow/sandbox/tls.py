"""Certificates for the site's own host names, signed by an authority made for this one run."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from pathlib import Path

from pixivflow.sandbox.routes import HOSTS


class TlsUnavailableError(RuntimeError):
    """The package that makes certificates is not installed."""


def server_context(folder: Path, extra_names: Iterable[str] = ()) -> tuple[ssl.SSLContext, Path]:
    """A server context whose certificate names all simulated hosts, and the file `ca.pem` that clients must trust.

    The key of the authority is never written: the file can only vouch for this process. Raises TlsUnavailableError
    without the package `trustme`.
    """
    try:
        import trustme  # noqa: PLC0415 - only those who ask for TLS need the package
    except ImportError as error:
        raise TlsUnavailableError("TLS needs the package 'trustme': install pixivflow[tls]") from error
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*HOSTS, "localhost", "127.0.0.1", "::1", *extra_names).configure_cert(context)
    folder.mkdir(parents=True, exist_ok=True)
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    return context, ca_file
