"""What every test has around it: a printed seed, only loopback, and no task or process left behind.

pytest-randomly shuffles the tests and prints `Using --randomly-seed=N`; `pytest --randomly-seed=N` repeats that order.
Hypothesis prints how to repeat a failing example. Sockets are limited to loopback by pytest-socket (pyproject.toml).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# No deadline: timing assertions are not made anywhere. The blob lets a failure be repeated from a CI log alone.
settings.register_profile("default-here", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "thorough", deadline=None, print_blob=True, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default-here"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--scale N` makes the fault and property tests try N times as much."""
    parser.addoption("--scale", type=int, default=1, help="how many times more points fault tests try (default 1)")


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> int:
    """The factor from `--scale`, at least 1."""
    return max(1, int(request.config.getoption("--scale")))


@pytest.fixture
def free_port() -> int:
    """A loopback port nobody listened on a moment ago. Prefer port 0 where the code under test can report its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


_OUTER = dict(os.environ)


@pytest.fixture(scope="session")
def outer_environment() -> dict[str, str]:
    """The environment pytest was started in, for the few tests that install packages."""
    return dict(_OUTER)


@pytest.fixture(scope="session", autouse=True)
def _own_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads the settings, secrets or proxies of the person who runs it, or writes into their home."""
    home = tmp_path_factory.mktemp("home")
    folders = {"HOME": home} | {
        f"XDG_{kind}_HOME": home / kind.lower() for kind in ("CONFIG", "DATA", "STATE", "CACHE")
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in _OUTER:
            if name.startswith(("PIXIVFLOW_", "PIXIV_", "SCHEDULER_")) or name.lower().endswith("_proxy"):
                patch.delenv(name)
        for name, folder in folders.items():
            patch.setenv(name, str(folder))
        yield
