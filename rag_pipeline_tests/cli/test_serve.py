import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.serving.keys import KeyRing


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    return int(ended.value.code or 0)


def test_it_refuses_to_listen_on_the_network_without_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--host", "0.0.0.0", "--home", str(tmp_path)) == 3
    assert "refusing to listen on 0.0.0.0 without keys" in capsys.readouterr().err


def test_a_key_file_that_cannot_be_used_is_told_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--keys", str(tmp_path / "none.toml"), "--home", str(tmp_path)) == 3
    assert "key file not readable" in capsys.readouterr().err


def test_a_new_key(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--identity", "bot", "--group", "support", "--scope", "read", "--scope", "act-as")
    assert run("--new-key", "support-bot", *options) == 0
    shown = capsys.readouterr()
    token = shown.err.split()[-1]
    key = KeyRing.model_validate(tomllib.loads(shown.out)).find(token)
    assert key is not None
    assert (key.name, key.identity, key.groups, key.scopes) == ("support-bot", "bot", ("support",), ("read", "act-as"))
    assert token not in shown.out
    assert run("--new-key", "x", "--group", "g") == 2


def test_options_reach_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import logging

    import uvicorn

    seen: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: seen.update(options))
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    assert run("--port", "1234", "--home", str(tmp_path)) == 0
    assert (seen["host"], seen["port"], seen["access_log"]) == ("127.0.0.1", 1234, False)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run("--home", str(tmp_path)) == 11
    assert "[serve]" in capsys.readouterr().err


def test_mcp_wants_a_user_for_its_groups() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "--group", "finance"])
    assert ended.value.code == 2


@pytest.mark.parametrize(("table", "options", "workers"), [("", ("--workers", "3"), 3), ("workers = 2\n", (), 2)])
def test_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, options: tuple[str, ...], workers: int
) -> None:
    from rag_pipeline.serving import workers as module

    seen: dict[str, Any] = {}

    class Started:
        def __init__(self, work: module.Work, sockets: list[Any]) -> None:
            address = sockets[0].getsockname()
            seen.update(workers=work.serving.workers, config=work.config, address=address, folder=work.metrics.is_dir())

        def run(self) -> int:
            return 4

    monkeypatch.setattr(module, "Workers", Started)
    monkeypatch.setattr(module.logging, "basicConfig", lambda **_: None)
    config = tmp_path / "rag.toml"
    config.write_text(f"[serving]\n{table}")
    assert run("--port", "0", "--home", str(tmp_path), "--config", str(config), *options) == 4
    assert (seen["workers"], seen["config"], seen["folder"]) == (workers, config, True)
    assert seen["address"][0] == "127.0.0.1"
    assert run("--workers", "0") == run("--workers", "65") == run("--workers", "auto") == 2
