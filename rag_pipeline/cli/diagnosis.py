"""The findings behind `doctor`, one small function each."""

import importlib.metadata
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.paths import Home
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings

LEAST_FREE_BYTES = 1_000_000_000
EXTRAS = {
    "build": ("dagster", "langchain_text_splitters", "pyarrow", "sentence_transformers", "tree_sitter"),
    "formats": ("markitdown",),
    "serve": ("fastapi", "prometheus_client", "uvicorn"),
    "mcp": ("mcp",),
}


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    state: Literal["ok", "absent", "broken"]
    detail: str


def diagnose(settings: Settings) -> tuple[Finding, ...]:
    home = Home(settings.home)
    return (
        Finding("python", "ok", sys.version.split()[0]),
        _duckdb(),
        *_extras(),
        _data_directory(settings.home),
        *_models(home),
        *_collections(home),
        *_settings(settings),
    )


def _duckdb() -> Finding:
    from rag_pipeline.index.duckdb_settings import load_extensions, memory_connection

    try:
        connection = memory_connection()
        load_extensions(connection)
        connection.close()
    except RagPipelineError as error:
        return Finding("duckdb with vss and fts", "broken", str(error))
    return Finding("duckdb with vss and fts", "ok", importlib.metadata.version("duckdb"))


def _extras() -> Iterator[Finding]:
    for extra, modules in EXTRAS.items():
        missing = [m for m in modules if importlib.util.find_spec(m) is None]
        if missing:
            yield Finding(f"extra [{extra}]", "absent", f"no {', '.join(missing)}: pip install 'rag-pipeline[{extra}]'")
        else:
            yield Finding(f"extra [{extra}]", "ok", "installed")


def _data_directory(root: Path) -> Finding:
    name = "data directory"
    shown = str(root.resolve())
    existing = next(p for p in (root.resolve(), *root.resolve().parents) if p.exists())
    if not existing.is_dir():
        return Finding(name, "broken", f"{existing} is not a folder; set RAG_PIPELINE_HOME to one")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return Finding(name, "broken", f"{shown}: not writable ({error.strerror}); set RAG_PIPELINE_HOME elsewhere")
    free = shutil.disk_usage(existing).free
    if free < LEAST_FREE_BYTES:
        return Finding(name, "broken", f"{shown}: only {free / 1e9:.1f} GB free; free some space or move it")
    note = "" if root.exists() else ", not created yet"
    return Finding(name, "ok", f"{shown} ({free / 1e9:.0f} GB free{note})")


def _models(home: Home) -> Iterator[Finding]:
    from rag_pipeline.embedding.registry import verify_model

    folders = sorted(p for p in home.models.iterdir() if p.is_dir()) if home.models.is_dir() else []
    if not folders:
        yield Finding("models", "absent", "none exported yet; the first reindex does it")
    for folder in folders:
        try:
            verify_model(folder)
        except RagPipelineError as error:
            yield Finding(f"model {folder.name}", "broken", str(error))
        else:
            yield Finding(f"model {folder.name}", "ok", "files match their checksums")


def _collections(home: Home) -> Iterator[Finding]:
    from rag_pipeline.release.verify import served_release_verifies

    found = sorted(p.parent for p in home.root.glob("*/CURRENT"))
    if not found:
        yield Finding(
            "collections",
            "absent",
            "nothing published yet; run `rag-pipeline demo` or `rag-pipeline reindex --source FOLDER`",
        )
    for folder in found:
        result = served_release_verifies(home.collection(folder.name))
        yield Finding(f"collection {folder.name}", "ok" if result.passed else "broken", result.message)
    if os.environ.get("DAGSTER_HOME") and not Path(os.environ["DAGSTER_HOME"]).is_dir():
        yield Finding("DAGSTER_HOME", "broken", f"{os.environ['DAGSTER_HOME']} is not a folder; create or unset it")


def _settings(settings: Settings) -> Iterator[Finding]:
    """A machine without [build] only serves: it needs none of these folders."""
    for name, own in settings.collections.items() if importlib.util.find_spec("dagster") else ():
        check = f"settings of {name}"
        missing = tuple(_missing(own))
        yield from (Finding(check, "broken", f"{what} in [collections.{name}]") for what in missing)
        if not missing:
            yield Finding(check, "ok", "the folders they name are there")


def _missing(own: CollectionSettings) -> Iterator[str]:
    """What the next re-index would stop at. A URL is left to that: another machine may take long to answer."""
    for source in own.sources:
        remote = "://" in source.path or "::" in source.path
        if not remote and not Path(source.path).expanduser().is_dir():
            yield f"source {source.path!r} is not a folder; create it, or correct `sources`"
    if own.eval_set and not Path(own.eval_set).is_dir():
        yield f"eval_set {own.eval_set!r} is not a folder; correct or remove it"
