"""``mgae serve``."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mgae.cli.flags import DeviceAgain, RunNumber
from mgae.core.errors import ConfigError, UnsupportedError

_SHORTEST_TOKEN = 8
_FIRST_DESCRIPTOR = 3  # of systemd's protocol, sd_listen_fds(3)


def serve(
    run: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", show_default=False, help="One run directory, or several."),
    ],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="MGAE_TOKEN",
            help="What every request but /health must bring; better set as MGAE_TOKEN.",
        ),
    ] = None,
    number: RunNumber = 0,
    device: DeviceAgain = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not say where.")] = False,
) -> None:
    """Serve recommendations of runs over HTTP, with a page to look around in."""
    _require_packages()
    _check_access(host, token)
    listening = _listen(host, port)
    with listening:
        app = _application(run, number, device, host, token)
        import uvicorn

        from mgae.serving.service.patience import GRACE_SECONDS, PatientProtocol

        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        if not quiet:
            _say_where(host, listening.getsockname()[1], token)
        with suppress(KeyboardInterrupt):  # the way to stop it, and no accident
            uvicorn.Server(config).run(sockets=[listening])


def _require_packages() -> None:
    modules = {"fastapi": "fastapi", "uvicorn": "uvicorn", "prometheus-client": "prometheus_client"}
    missing = [name for name, module in modules.items() if not importlib.util.find_spec(module)]
    if missing:
        raise UnsupportedError(
            f"mgae serve needs {' and '.join(missing)}: pip install 'mgae[serve]'"
        )


def _check_access(host: str, token: str | None) -> None:
    """Require a token if others can reach the service."""
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise ConfigError(
            f"--token must have at least {_SHORTEST_TOKEN} characters, got {len(token)}"
        )
    if token and not (token.isascii() and token.isprintable() and token == token.strip()):
        raise ConfigError(
            "--token must be printable ASCII without blanks at its ends: a header carries it"
        )
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"--host {host} lets others on the network in: set --token or MGAE_TOKEN, "
            "or leave out --host to serve this machine only"
        )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket: that which systemd or a parent hands over, or one of our own."""
    if os.environ.get("LISTEN_FDS") == "1" and _ours(os.environ.get("LISTEN_PID")):
        return _without_delay(_handed_over(host))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"cannot listen on {host} port {port}: {reason}; give another --host or --port"
        ) from None
    return _without_delay(listening)


def _ours(process: str | None) -> bool:
    return process is None or process == str(os.getpid())


def _handed_over(host: str) -> socket.socket:
    """Return the socket that systemd's protocol hands over; it outlives this process.

    Requests wait in it while one service takes over from another, so that none is refused.
    """
    try:
        listening = socket.socket(fileno=_FIRST_DESCRIPTOR)
        address = str(listening.getsockname()[0])
    except (OSError, IndexError) as error:
        raise ConfigError(
            f"LISTEN_FDS is 1, and descriptor 3 is no listening socket ({error}): unset LISTEN_FDS"
        ) from None
    if is_loopback(host) and not is_loopback(address):
        listening.close()
        raise ConfigError(
            f"the socket that was handed over listens on {address}, and --host is {host}: "
            f"give --host {address} with a token"
        )
    return listening


def _without_delay(listening: socket.socket) -> socket.socket:
    # Each connection inherits it: without, the second packet of an answer waits for the client.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _application(
    runs: list[Path], number: int, device: str | None, host: str, token: str | None
) -> Any:
    import torch
    from prometheus_client import disable_created_metrics

    from mgae.serving.service.application import LOOPBACK, create_app
    from mgae.serving.service.reloading import Reloader, Watched
    from mgae.serving.service.served import Served, names_of

    # Otherwise each route has a second series, with its time of creation.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    torch.set_num_threads(1)  # requests share the cores, not parts of one request
    sys.setswitchinterval(0.0005)  # a request's steps are short: others need not wait 5 ms for one
    names = names_of([run.resolve() for run in runs])
    watched = [
        Watched(run, partial(Served.load, run, number, device, name))
        for run, name in zip(runs, names, strict=True)
    ]
    served = [one.load() for one in watched]
    name = f"[{host}]" if ":" in host else host.lower()
    app = create_app(*served, token=token, hosts=LOOPBACK | {name})
    Reloader(app.state.runs, watched, partial(typer.echo, err=True)).start()
    return app


def _say_where(host: str, port: int, token: str | None) -> None:
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    guarded = " (asks for the token)" if token else ""
    typer.echo(f"{address}/{guarded}, OpenAPI at {address}/docs; Ctrl-C stops")
