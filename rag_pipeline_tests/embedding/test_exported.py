import json
import shutil
from pathlib import Path

import pytest

from rag_pipeline.embedding.exported import CARD, read_exported, verify_model
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline_tests.embedding.tiny import exported_table, identity


def test_round_trip(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    assert read_exported(tmp_path, exported.fingerprint) == exported
    assert exported.identity == identity()
    assert set(exported.files) == {"model.onnx", "tokenizer.json"}
    verify_model(exported.folder)


def test_an_absent_model_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"0123456789abcdef.*run a reindex"):
        read_exported(tmp_path, "0123456789abcdef")


def test_a_folder_under_another_fingerprint_is_refused_naming_both(tmp_path: Path) -> None:
    """A query must never be embedded by another model than the index was."""
    exported = exported_table(tmp_path)
    other = exported_table(tmp_path / "elsewhere", weights_sha256="other")
    shutil.copytree(exported.folder, tmp_path / other.fingerprint)
    with pytest.raises(ModelUnavailable) as caught:
        read_exported(tmp_path, other.fingerprint)
    assert exported.fingerprint in str(caught.value)
    assert other.fingerprint in str(caught.value)


def test_a_card_edited_by_hand_is_refused(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    card = json.loads((exported.folder / CARD).read_text())
    (exported.folder / CARD).write_text(json.dumps(card | {"max_tokens": 512}))
    with pytest.raises(ModelUnavailable, match=exported.fingerprint):
        read_exported(tmp_path, exported.fingerprint)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"model": "x"}', b"\xff"])
def test_an_unreadable_card_is_refused(tmp_path: Path, content: bytes) -> None:
    exported = exported_table(tmp_path)
    (exported.folder / CARD).write_bytes(content)
    with pytest.raises(ModelUnavailable, match="not readable"):
        read_exported(tmp_path, exported.fingerprint)


def test_a_cut_file_is_refused_at_once_and_a_changed_one_by_the_deep_check(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    model = exported.folder / "model.onnx"
    whole = model.read_bytes()
    model.write_bytes(whole[:-1])
    with pytest.raises(ModelUnavailable, match=f"has {len(whole) - 1} bytes, expected {len(whole)}"):
        read_exported(tmp_path, exported.fingerprint)
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    read_exported(tmp_path, exported.fingerprint)
    with pytest.raises(ModelUnavailable, match=exported.files["model.onnx"][1]):
        verify_model(exported.folder)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    (exported.folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json has None bytes"):
        read_exported(tmp_path, exported.fingerprint)
