from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.serving.settings import ServingSettings, check_listen, is_loopback, serving_settings
from rag_pipeline.settings.load import Settings, load_settings


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_without_keys_only_loopback(tmp_path: Path) -> None:
    check_listen(ServingSettings())
    check_listen(ServingSettings(host="0.0.0.0", keys=tmp_path / "keys.toml"))
    with pytest.raises(InvalidSettings, match=r"refusing to listen on 0\.0\.0\.0 without keys"):
        check_listen(ServingSettings(host="0.0.0.0"))


def test_the_table_and_the_options_on_top() -> None:
    settings = Settings(serving={"port": 9000, "burst": 5})
    assert serving_settings(settings).port == 9000
    own = serving_settings(settings, port=1234, host=None)
    assert (own.port, own.burst, own.host) == (1234, 5, "127.0.0.1")


def test_unknown_keys_and_values_are_errors() -> None:
    with pytest.raises(InvalidSettings, match=r"\[serving\]: unknown key 'prot' \(did you mean 'port'"):
        serving_settings(Settings(serving={"prot": 1}))
    with pytest.raises(InvalidSettings, match="port: "):
        serving_settings(Settings(serving={"port": 70_000}))


def test_the_table_comes_from_the_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "rag.toml"
    file.write_text("[serving]\nthreads = 7\n")
    assert serving_settings(load_settings(file, environ={})).threads == 7
