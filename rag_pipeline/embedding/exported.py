"""The folder of one model under the data directory, and embedder.json, which says what it holds.

Lives here: writing, reading and checking that file. Making the model belongs to export.py, running it to the runtimes.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rag_pipeline.durable import write_json
from rag_pipeline.embedding.fingerprint import EMBEDDER_VERSION, ModelIdentity, fingerprint
from rag_pipeline.embedding.hashing import file_sha256
from rag_pipeline.errors import ModelUnavailable

CARD = "embedder.json"
MODEL = "model.onnx"
TOKENS = "tokens.onnx"
"""The small form for reranking; folders of earlier versions lack it, and nothing else needs it."""
TOKENIZER = "tokenizer.json"
_AGAIN = "delete the folder and run a reindex, which makes it again"


@dataclass(frozen=True, slots=True)
class ExportedModel:
    folder: Path
    model: str
    """Name by which source.py finds the original again."""
    fingerprint: str
    identity: ModelIdentity
    files: dict[str, tuple[int, str]]
    """Size in bytes and sha256 by file name."""


def write_card(folder: Path, *, model: str, identity: ModelIdentity, files: Iterable[str]) -> None:
    """Describe finished files in `folder`; the fingerprint stored is computed from the identity."""
    stored = {name: {"size": (folder / name).stat().st_size, "sha256": file_sha256(folder / name)} for name in files}
    card = {
        "fingerprint": fingerprint(identity),
        "embedder_version": EMBEDDER_VERSION,
        "model": model,
        **asdict(identity),
        "files": stored,
    }
    write_json(folder / CARD, card)


def read_exported(models: Path, wanted: str) -> ExportedModel:
    """The model of that fingerprint, its identity and file sizes checked.

    Raises ModelUnavailable when it is absent, made for another fingerprint, or a file has another size.
    """
    folder = models / wanted
    if not (folder / CARD).is_file():
        raise ModelUnavailable(
            f"the embedding model {wanted} is not in {models}; copy its folder there from the machine that built the "
            "index, or run a reindex here"
        )
    found = _parse(folder)
    computed = fingerprint(found.identity)
    if not found.fingerprint == computed == wanted:
        raise ModelUnavailable(
            f"{folder / CARD} describes the model {computed} (it calls itself {found.fingerprint}), expected {wanted}; "
            + _AGAIN
        )
    for name, (size, _) in found.files.items():
        actual = (folder / name).stat().st_size if (folder / name).is_file() else None
        if actual != size:
            raise ModelUnavailable(f"{folder / name} has {actual} bytes, expected {size}; " + _AGAIN)
    return found


def verify_model(folder: Path) -> None:
    """As `read_exported`, and every file's sha256. Raises ModelUnavailable naming both hashes."""
    exported = read_exported(folder.parent, folder.name)
    for name, (_, expected) in exported.files.items():
        actual = file_sha256(folder / name)
        if actual != expected:
            raise ModelUnavailable(f"{folder / name} has sha256 {actual}, expected {expected}; " + _AGAIN)


def _parse(folder: Path) -> ExportedModel:
    try:
        card = json.loads((folder / CARD).read_text("utf-8"))
        return ExportedModel(
            folder=folder,
            model=card["model"],
            fingerprint=card["fingerprint"],
            identity=ModelIdentity(**{name: card[name] for name in ModelIdentity.__dataclass_fields__}),
            files={name: (entry["size"], entry["sha256"]) for name, entry in card["files"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelUnavailable(f"{folder / CARD} is not readable ({error!r}); " + _AGAIN) from error
