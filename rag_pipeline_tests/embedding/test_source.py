import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_pipeline.embedding.source import resolve_model
from rag_pipeline.errors import ModelUnavailable


def test_a_local_folder_is_named_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    source = resolve_model("mine")
    assert source.folder == tmp_path / "mine"
    assert source.model == str(tmp_path / "mine")


@pytest.mark.parametrize("name", ["./nothing", "/no/such/folder", "~/no/such/folder", "a/b/c", "C:\\models\\x"])
def test_what_looks_like_a_path_is_never_asked_of_the_hub(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="is not a folder on this machine"):
        resolve_model(name)


@pytest.mark.parametrize(
    ("name", "asked"),
    [("somebody/some-model", "somebody/some-model"), ("some-model", "sentence-transformers/some-model")],
)
def test_offline_a_hub_name_says_to_give_a_folder(name: str, asked: str) -> None:
    with pytest.raises(ModelUnavailable, match="local folder") as caught:
        resolve_model(name)
    assert repr(asked) in str(caught.value)


def test_a_name_the_hub_can_not_have_is_the_same_error() -> None:
    with pytest.raises(ModelUnavailable, match="local folder"):
        resolve_model("no such model!!")


def test_an_unreachable_hub_says_to_give_a_folder(tmp_path: Path) -> None:
    """A download that can't happen ends in one clear error, not in a traceback of the HTTP library."""
    code = """
from rag_pipeline.embedding.source import resolve_model
from rag_pipeline.errors import ModelUnavailable
try:
    resolve_model("somebody/some-model")
except ModelUnavailable as error:
    assert "local folder" in str(error) and "ConnectError" in str(error), error
else:
    raise SystemExit("found a model where none can be")
"""
    environ = os.environ | {"HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
