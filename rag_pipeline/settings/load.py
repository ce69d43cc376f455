"""Settings: TOML in, frozen models out; an unknown key is an error that names the allowed ones.

The package's own `defaults.toml` is read first, then one settings file: the path given, else $RAG_PIPELINE_CONFIG,
else ./rag_pipeline.toml. Tables merge by key; a collection or strategy of the same name is merged field by field.
Where data is kept comes from $RAG_PIPELINE_HOME, else `home` in the file, else ./data.
"""

import os
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError, field_validator

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.settings.base import Strict, explain, pick
from rag_pipeline.settings.collection import CollectionSettings, check_collection_name
from rag_pipeline.settings.strategy import ContextSettings, StrategySettings
from rag_pipeline.settings.tracking import TrackingSettings


class Settings(Strict):
    home: Path = Path("data")
    default_collection: str = "agent_platform"
    collections: Mapping[str, CollectionSettings] = {}
    strategies: Mapping[str, StrategySettings] = {}
    default_strategy: str = "hybrid"
    contexts: Mapping[str, ContextSettings] = {}
    tracking: TrackingSettings = TrackingSettings()
    serving: Mapping[str, Any] = {}
    """The server's table, read strictly by `rag_pipeline.serving.settings`."""

    @field_validator("collections")
    @classmethod
    def _collection_names(cls, value: Mapping[str, CollectionSettings]) -> Mapping[str, CollectionSettings]:
        for name in value:
            check_collection_name(name)
        return value

    def collection(self, name: str) -> CollectionSettings:
        """Raises UnknownName."""
        return pick(self.collections, name, "collection")

    def strategy(self, name: str) -> StrategySettings:
        """Raises UnknownName."""
        return pick(self.strategies, name, "strategy")


def load_settings(path: Path | None = None, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the defaults and one settings file. Raises InvalidSettings naming the file and the field."""
    file = path or _settings_file(environ)
    return _settings(file, None if file is None else _text(file), environ.get("RAG_PIPELINE_HOME"))


@lru_cache(maxsize=8)
def _settings(file: Path | None, text: str | None, home: str | None) -> Settings:
    """Of a file's text as it is now: `retrieve` asks for them on every call, and reading TOML takes a millisecond."""
    data = tomllib.loads(resources.files("rag_pipeline").joinpath("defaults.toml").read_text("utf-8"))
    if file is not None and text is not None:
        data = _merged(data, _parsed(file, text))
    if home:
        data["home"] = home
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise InvalidSettings(explain(error, str(file or "the built-in defaults"))) from error


def _settings_file(environ: Mapping[str, str]) -> Path | None:
    if environ.get("RAG_PIPELINE_CONFIG"):
        return Path(environ["RAG_PIPELINE_CONFIG"])
    local = Path("rag_pipeline.toml")
    return local if local.is_file() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise InvalidSettings(f"{path}: no such settings file; create it or unset RAG_PIPELINE_CONFIG") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"{path}: not readable as TOML: {error}") from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"{path}: not readable as TOML: {error}") from error


def _merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` on top of `base`, table by table."""
    out = dict(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(out.get(key), dict):
            out[key] = _merged(out[key], value)
        else:
            out[key] = value
    return out
