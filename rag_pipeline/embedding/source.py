"""Where the files of a model are: a package, a folder, or the hub's cache filled by a download.

Only finds the folder; what is in it is for description.py.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.embedding.packaged import PACKAGED, packaged_folder
from rag_pipeline.errors import MissingExtra, ModelUnavailable

_WANTED = ["*.json", "*.txt", "*.model", "*.safetensors"]
_UNWANTED = ["onnx/*", "openvino/*", "*.onnx", "training*", "*eval*"]


@dataclass(frozen=True, slots=True)
class ModelSource:
    model: str
    """Name by which the same model is found again: a packaged name, an absolute folder or a hub name."""
    folder: Path


def resolve_model(model: str) -> ModelSource:
    """Find the model's files; a hub model is downloaded once unless HF_HUB_OFFLINE is set.

    Raises ModelUnavailable when they can't be had, MissingExtra when the package that carries them is absent.
    """
    if model in PACKAGED:
        return ModelSource(model, packaged_folder(model))
    folder = Path(model).expanduser()
    if folder.is_dir():
        return ModelSource(str(folder.resolve()), folder.resolve())
    if model.startswith((".", "~", "/")) or model.count("/") > 1 or "\\" in model:
        raise ModelUnavailable(f"{model!r} is not a folder on this machine; correct `model` in [embedding]")
    # The same default owner that sentence-transformers gives to a bare name.
    name = model if "/" in model else f"sentence-transformers/{model}"
    return ModelSource(name, _hub_folder(name))


def _hub_folder(name: str) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        import httpx
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("huggingface_hub", "build") from None
    try:
        folder = Path(snapshot_download(name, allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
        if not any(folder.rglob("*.safetensors")):
            folder = Path(snapshot_download(name, allow_patterns=[*_WANTED, "*.bin"], ignore_patterns=_UNWANTED))
    except (OSError, ValueError, httpx.HTTPError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise ModelUnavailable(
            f"the model {name!r} is not on this machine and could not be downloaded ({type(error).__name__}: "
            f"{reason}); set `model` in [embedding] to a local folder of it, or run once where huggingface.co "
            "can be reached"
        ) from error
    return folder
