"""The weights of a reranker's own model folder, pinned where a release is made.

A release names such a model by its path alone; with the hash, another model under that path is refused instead of
ranking in its place.
"""

from pathlib import Path

from rag_pipeline.embedding.hashing import files_sha256
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.settings.strategy import StrategySettings

PINNED = ("colbert", "cross_encoder")
"""Rerankers whose model may be a folder of weights."""
_WEIGHTS = ("*.safetensors", "*.bin")


def weights_sha256(folder: Path) -> str:
    """Over every file of weights in `folder` and below, with its name; of nothing where there is none."""
    return files_sha256(folder, [path for kind in _WEIGHTS for path in sorted(folder.rglob(kind))])


def pinned(strategy: StrategySettings) -> StrategySettings:
    """With the hash of the reranker's folder, where it has one here and the settings give no hash themselves."""
    options = strategy.reranker_options
    folder = Path(options.model).expanduser()
    if strategy.reranker not in PINNED or not options.model or options.sha256 or not folder.is_dir():
        return strategy
    return strategy.model_copy(
        update={"reranker_options": options.model_copy(update={"sha256": weights_sha256(folder)})}
    )


def check_pin(model: str, sha256: str) -> None:
    """Raises ModelUnavailable naming both hashes; a model that is no folder has none, and no hash asks for nothing."""
    folder = Path(model).expanduser()
    if not sha256 or not folder.is_dir():
        return
    found = weights_sha256(folder)
    if found != sha256.lower():
        raise ModelUnavailable(
            f"the weights in {folder} have sha256 {found}, expected {sha256.lower()}; restore that model, or make a "
            "new release with this one"
        )
