"""`pixivflow sandbox serve`: an invented Pixiv and a receiver on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pixivflow.cli.command import command, group
from pixivflow.cli.exits import Exit, Stop
from pixivflow.cli.loop import Interrupts, run_with_signals
from pixivflow.cli.options import Options
from pixivflow.cli.output import clean, emit, show

app = group("An invented Pixiv to try things with: everything is generated, nothing leaves this machine.")


@command(app, "serve", with_config=False)
def serve(
    options: Options,
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    seed: Annotated[int, typer.Option(help="Another seed makes another world.")] = 1,
    works: Annotated[int, typer.Option(min=0, help="Illustrations, manga and animations.")] = 200,
    novels: Annotated[int | None, typer.Option(min=0, help="Novels; a fifth of the works when not given.")] = None,
    users: Annotated[int, typer.Option(min=1, help="Authors.")] = 12,
    faults: Annotated[Path | None, typer.Option(metavar="FILE", help="Fault rules to begin with (JSON).")] = None,
    latency_ms: Annotated[float, typer.Option(min=0, help="Added before every answer.")] = 0,
    tls_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Turn TLS on; the CA is written there.")] = None,
    tls_port: Annotated[int, typer.Option(min=0, max=65535, help="Port for TLS; 0 takes a free one.")] = 0,
    proxy_port: Annotated[int | None, typer.Option(min=0, max=65535, help="Also run a CONNECT proxy there.")] = None,
    token: Annotated[str | None, typer.Option(help="The only refresh token accepted; any when not given.")] = None,
) -> int:
    """Serve until Ctrl-C. Prints where to point `pixiv.endpoints`."""
    from pixivflow.sandbox import SandboxOptions

    world = SandboxOptions(
        seed=seed, works=works, novels=novels, users=users, latency_ms=latency_ms, refresh_token=token
    )
    places = {"host": host, "port": port, "faults_file": faults, "tls_dir": tls_dir, "tls_port": tls_port}
    return run_with_signals(lambda interrupts: _serve(options, world, {**places, "proxy_port": proxy_port}, interrupts))


async def _serve(options: Options, world: Any, places: dict[str, Any], interrupts: Interrupts) -> int:
    from pixivflow.sandbox import FaultFileError, TlsUnavailableError
    from pixivflow.sandbox import serve as run

    def ready(addresses: Any) -> None:
        _tell(options, addresses)

    try:
        await run(world, **places, ready=ready, stop=interrupts.stop)
    except (FaultFileError, TlsUnavailableError) as error:
        raise Stop(Exit.USAGE, clean(error)) from None
    except FileNotFoundError as error:
        raise Stop(Exit.USAGE, f"there is no file {clean(error.filename)}") from None
    except OSError as error:
        why = clean(error.strerror or error)
        raise Stop(Exit.REFUSED, f"the sandbox cannot start: {why}", hint="try --port 0") from None
    return Exit.OK


def _tell(options: Options, addresses: Any) -> None:
    base = addresses.base_url
    receiver = f"{base}/__sandbox__/receiver"
    if options.json:
        emit(
            {
                "event": "ready",
                "url": base,
                "endpoints": addresses.endpoints(),
                "receiver": receiver,
                "stats": f"{base}/__sandbox__/stats",
                "tls_port": addresses.tls_port,
                "ca_file": addresses.ca_file,
                "proxy": addresses.proxy_url,
            }
        )
        return
    show(f"sandbox ready at {base}")
    show('  "pixiv": {"refreshToken": "any-text-will-do", "endpoints": {')
    rows = [f'    "{name}": "{url}"' for name, url in addresses.endpoints().items()]
    show(",\n".join(rows) + "\n  }}")
    show(f"  receiver   {receiver}/NAME/submit")
    show(f"  statistics {base}/__sandbox__/stats")
    if addresses.tls_port is not None:
        show(f"  tls        port {addresses.tls_port}, certificate authority {addresses.ca_file}")
    if addresses.proxy_url is not None:
        show(f"  proxy      {addresses.proxy_url}")
