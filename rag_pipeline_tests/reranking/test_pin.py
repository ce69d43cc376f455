from pathlib import Path

import pytest

from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.reranking.pin import check_pin, pinned, weights_sha256
from rag_pipeline.reranking.registry import RerankerOptions, open_reranker
from rag_pipeline.settings.strategy import StrategySettings


def strategy(reranker: str, **options: object) -> StrategySettings:
    return StrategySettings.model_validate({"reranker": reranker, "reranker_options": options})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model" / "1_Dense").mkdir(parents=True)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"one")
    (tmp_path / "model" / "1_Dense" / "model.safetensors").write_bytes(b"two")
    return tmp_path / "model"


def test_every_file_of_weights_counts(folder: Path) -> None:
    before = weights_sha256(folder)
    (folder / "README.md").write_text("other words")
    assert weights_sha256(folder) == before
    (folder / "1_Dense" / "model.safetensors").write_bytes(b"three")
    assert weights_sha256(folder) != before


@pytest.mark.parametrize("reranker", ["colbert", "cross_encoder"])
def test_a_folder_is_pinned_and_another_model_in_it_refused(folder: Path, reranker: str) -> None:
    """A release says which folder; what lay in it when the release was made must be what ranks."""
    made = pinned(strategy(reranker, model=str(folder)))
    assert made.reranker_options.sha256 == weights_sha256(folder)
    assert pinned(made) == made
    check_pin(str(folder), made.reranker_options.sha256.upper())
    (folder / "model.safetensors").write_bytes(b"another")
    options = RerankerOptions(models=folder, model=str(folder), sha256=made.reranker_options.sha256)
    with pytest.raises(ModelUnavailable, match=r"have sha256 \w+, expected \w+; restore that model"):
        open_reranker(reranker, options)


def test_what_has_no_folder_stays_as_it_is(folder: Path) -> None:
    for given in (
        strategy("maxsim"),
        strategy("cross_encoder", model="some/name"),
        strategy("colbert", model=str(folder), sha256="ab"),
        strategy("flashrank", model=str(folder)),
    ):
        assert pinned(given) is given
    check_pin("some/name", "ab")
    check_pin(str(folder), "")
