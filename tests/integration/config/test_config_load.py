"""Loading from real files: which one, from where paths count, and that nothing is written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pixivflow.config import load_config, render_problems

GOOD = {"pixiv": {"refreshToken": "a-real-refresh-token"}}


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_the_order_of_search(tmp_path: Path) -> None:
    home = tmp_path / "xdg"
    env = {"XDG_CONFIG_HOME": str(home)}
    in_order = [
        write(home / "pixivflow" / "config.json", GOOD),
        write(tmp_path / "pixivflow.toml", '[pixiv]\nrefreshToken = "a-real-refresh-token"\n'),
        write(tmp_path / "pixivflow.json", GOOD),
        write(tmp_path / "config" / "standalone.config.json", GOOD),
    ]
    while in_order:
        result = load_config(None, env, cwd=tmp_path)
        assert result.path == in_order[-1]
        assert result.problems == ()
        in_order.pop().unlink()
    result = load_config(None, env, cwd=tmp_path)
    assert result.path is None
    assert result.config is not None
    assert result.warnings[0].code == "no_file"
    assert "standalone.config.json" in result.warnings[0].reason
    assert result.config.library_dir == tmp_path / "downloads"


def test_the_variable_names_a_file_and_the_argument_wins(tmp_path: Path) -> None:
    first, second = write(tmp_path / "one.json", GOOD), write(tmp_path / "two.json", GOOD)
    env = {"PIXIV_DOWNLOADER_CONFIG": "one.json"}
    assert load_config(None, env, cwd=tmp_path).path == first
    assert load_config(second, env, cwd=tmp_path).path == second
    assert load_config("two.json", env, cwd=tmp_path).path == second


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_named_file_must_be_there(tmp_path: Path, name: str) -> None:
    result = load_config(name, {}, cwd=tmp_path)
    assert result.config is None
    assert [p.code for p in result.problems] == ["unreadable"]


def test_relative_paths_count_from_the_file_or_from_above_a_config_folder(tmp_path: Path) -> None:
    plain = load_config(write(tmp_path / "a" / "c.json", GOOD), {}, cwd=tmp_path).config
    nested = load_config(write(tmp_path / "b" / "config" / "c.json", GOOD), {}, cwd=tmp_path).config
    assert plain is not None
    assert nested is not None
    assert plain.library_dir == tmp_path / "a" / "downloads"
    assert nested.library_dir == tmp_path / "b" / "downloads"


def test_only_the_syntax_is_told_when_the_file_cannot_be_read(tmp_path: Path) -> None:
    result = load_config(write(tmp_path / "c.json", '{"pixiv": '), {}, cwd=tmp_path)
    assert render_problems(result.problems).startswith("c.json: line 1, column ")
    assert len(result.problems) == 1


def test_duplicates_and_other_problems_come_together(tmp_path: Path) -> None:
    result = load_config(write(tmp_path / "c.json", '{"logLevel": "info", "logLevel": "debug", "x": 1}'), {})
    assert [p.code for p in result.errors] == ["duplicate_key", "unknown_key"]


def test_secrets_come_from_files(tmp_path: Path) -> None:
    write(tmp_path / "secrets" / "refresh", "a-real-refresh-token\n")
    write(tmp_path / "secrets" / "manual", "m-token\r\n")
    write(tmp_path / "secrets" / "header", "h-token\n")
    delivery = {"targets": {"r": {"type": "httpMultipart", "url": "http://a.example", "headers": {"A": "B ${H}"}}}}
    path = write(tmp_path / "c.json", {"delivery": delivery})
    env = {
        "PIXIV_REFRESH_TOKEN_FILE": str(tmp_path / "secrets" / "refresh"),
        "PIXIVFLOW_REFETCH_TOKEN_FILE": "secrets/manual",
        "H_FILE": "secrets/header",
    }
    result = load_config(path, env, cwd=Path("/"))
    assert result.problems == ()
    assert result.config is not None
    assert result.config.pixiv.usable_refresh_token == "a-real-refresh-token"
    assert result.tokens.manual is not None
    assert result.tokens.manual.get_secret_value() == "m-token"
    assert result.config.delivery.targets["r"].headers["A"].get_secret_value() == "B h-token"


def test_a_secret_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    result = load_config(write(tmp_path / "c.json", {}), {"PIXIV_REFRESH_TOKEN_FILE": "nope"}, cwd=tmp_path)
    assert result.config is None
    assert [(p.source, p.code) for p in result.errors] == [("env PIXIV_REFRESH_TOKEN_FILE", "secret_file")]


def test_the_file_is_never_written(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", {**GOOD, "storage": {"databasePath": "C:\\elsewhere\\x.db"}})
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    assert load_config(path, {"PIXIV_REFRESH_TOKEN": "another-refresh-token"}, cwd=tmp_path).config is not None
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.json"]


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, pixivflow.config; "
        "print([m for m in ('aiohttp', 'litestar', 'PIL', 'apsw', 'rich', 'typer', 'structlog') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
