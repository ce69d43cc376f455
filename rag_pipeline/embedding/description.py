"""What the files of a sentence-transformers model say about it, read without torch.

A folder without modules.json is a plain transformer, which sentence-transformers pools by the mean.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_pipeline.embedding.hashing import files_sha256
from rag_pipeline.errors import ModelUnavailable

_TOKENIZER_FILES = ("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model")
_LIMIT_KEYS = ("model_max_length", "max_length")
_VOLATILE = ("_name_or_path", "transformers_version", "__version__", "torch_dtype", "dtype")
"""Say which program saved the model, not what it computes."""


@dataclass(frozen=True, slots=True)
class ModelDescription:
    folder: Path
    weights_sha256: str
    tokenizer_sha256: str
    config_sha256: str
    modules: tuple[str, ...]
    """Class names in order: ("Transformer", "Pooling", "Normalize")."""
    pooling: str
    """"mean", "cls", ..., several joined by "+"."""
    dimension: int | None
    """Of the transformer's states; None where config.json doesn't say."""
    max_tokens: int | None
    """The smallest limit that a file states, special tokens included."""
    prompts: dict[str, str]
    """Prefixes that the model's authors saved with it."""


def describe_model(folder: Path) -> ModelDescription:
    """Raises ModelUnavailable for a folder that holds no such model, or one without weights or tokenizer."""
    modules = _read(folder / "modules.json", default=[])
    kinds = tuple(str(m["type"]).rsplit(".", 1)[-1] for m in modules) or ("Transformer", "Pooling")
    places = sorted({folder / m["path"] for m in modules} | {folder})
    config = _read(folder / "config.json", default={})
    if not modules and not config:
        raise ModelUnavailable(
            f"{folder} holds no sentence-transformers model (neither modules.json nor config.json); "
            "set `model` in [embedding] to the folder that does"
        )
    pooling = _place(folder, modules, "Pooling")
    pooling_config = _read(pooling / "config.json", default={}) if pooling else {}
    own = _read(folder / "config_sentence_transformers.json", default={})
    return ModelDescription(
        folder=folder,
        weights_sha256=files_sha256(folder, _weights(folder, places)),
        tokenizer_sha256=files_sha256(folder, _tokenizer(folder)),
        config_sha256=_config_hash(folder, places),
        modules=kinds,
        pooling=_pooling(pooling_config),
        dimension=pooling_config.get("embedding_dimension")
        or pooling_config.get("word_embedding_dimension")
        or config.get("hidden_size"),
        max_tokens=_limit(folder, config),
        prompts={name: text for name, text in (own.get("prompts") or {}).items() if text},
    )


def _place(folder: Path, modules: list[dict[str, Any]], kind: str) -> Path | None:
    """Folder of the first module of that class."""
    return next((folder / m["path"] for m in modules if str(m["type"]).endswith(f".{kind}")), None)


def _weights(folder: Path, places: list[Path]) -> list[Path]:
    found: list[Path] = []
    for place in places:
        found += sorted(place.glob("*.safetensors")) or sorted(place.glob("pytorch_model*.bin"))
    if not found:
        raise ModelUnavailable(f"{folder} holds no weights (*.safetensors or pytorch_model.bin); complete the folder")
    return found


def _tokenizer(folder: Path) -> list[Path]:
    whole = folder / "tokenizer.json"
    files = [whole] if whole.is_file() else [folder / n for n in _TOKENIZER_FILES if (folder / n).is_file()]
    if not files:
        raise ModelUnavailable(f"{folder} holds no tokenizer.json and no vocabulary; complete the folder")
    return files


def _config_hash(folder: Path, places: list[Path]) -> str:
    content: dict[str, Any] = {}
    for path in sorted({p for place in places for p in place.glob("*config.json")} | {folder / "modules.json"}):
        if path.is_file() and path.name != "data_config.json":
            content[path.relative_to(folder).as_posix()] = _stable(_read(path, default={}))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _stable(value: Any) -> Any:
    return {k: v for k, v in value.items() if k not in _VOLATILE} if isinstance(value, dict) else value


def _limit(folder: Path, config: dict[str, Any]) -> int | None:
    """As sentence-transformers: its own setting, else the smaller of tokenizer's and position embeddings'."""
    own = _read(folder / "sentence_bert_config.json", default={})
    if own.get("max_seq_length"):
        return int(own["max_seq_length"])
    tokenizer = _read(folder / "tokenizer_config.json", default={})
    stated = [tokenizer.get(key) for key in _LIMIT_KEYS] + [config.get("max_position_embeddings")]
    limits = [int(n) for n in stated if isinstance(n, int | float) and 0 < n < 1_000_000]
    return min(limits) if limits else None


def _pooling(config: dict[str, Any]) -> str:
    mode = config.get("pooling_mode")
    if mode is None:
        old = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
        prefix = "pooling_mode_"
        on = [k.removeprefix(prefix) for k, v in config.items() if k.startswith(prefix) and v is True]
        mode = [old.get(k, k) for k in on] or ["mean"]
    return mode if isinstance(mode, str) else "+".join(mode)


def _read(path: Path, *, default: Any) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{path} is not readable as JSON ({error}); fetch the model again") from error
