"""The file of a release, and the pointer to the one in service: read strictly, written atomically.

A release's id is the hash of its content, so a file that was edited or damaged names itself. Making, publishing and
removing releases live in `rag_pipeline.release`.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from rag_pipeline.advice import advised, mend, owner
from rag_pipeline.durable import write_json
from rag_pipeline.errors import CorruptBuild
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Release

FILE = "release.json"
RELEASE_ID = re.compile(r"[0-9a-f]{20}")
EMBEDDER = {"fingerprint": str, "model": str, "runtime": str, "dimension": int, "max_tokens": int, "query_prefix": str}
"""The keys of `Release.embedder` and their types."""
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "release_id": str,
    "collection": str,
    "build_key": str,
    "embedder": dict,
    "strategies": dict,
    "default_strategy": str,
    "created": str,
    "calibration": (dict, type(None)),
    "contexts": dict,
}


def release_id(
    *,
    collection: str,
    build_key: str,
    embedder: Mapping[str, str | int],
    strategies: Mapping[str, Mapping[str, object]],
    default_strategy: str,
    contexts: Mapping[str, Mapping[str, object]],
    calibration: Mapping[str, object] | None = None,
) -> str:
    """First 20 hex digits of sha256 over the canonical JSON (sorted keys, no spaces, UTF-8) of all arguments.

    Raises ValueError where a value is NaN or infinite.
    """
    content = {
        "collection": collection,
        "build_key": build_key,
        "embedder": embedder,
        "strategies": strategies,
        "default_strategy": default_strategy,
        "contexts": contexts,
        "calibration": calibration,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()[:20]


def content_id(release: Release) -> str:
    """The id that the content of `release` hashes to; equal to `release.release_id` unless something changed it."""
    return release_id(
        collection=release.collection,
        build_key=release.build_key,
        embedder=release.embedder,
        strategies=release.strategies,
        default_strategy=release.default_strategy,
        contexts=release.contexts,
        calibration=release.calibration,
    )


def write_release(folder: Path, release: Release) -> None:
    """Write `folder/release.json` atomically, creating the folder.

    Raises CorruptBuild where the id is not the hash of the content.
    """
    _check_id(folder / FILE, release)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, {f.name: getattr(release, f.name) for f in fields(release)})


def read_release(folder: Path) -> Release:
    """Read `folder/release.json`.

    Raises CorruptBuild where it is missing, is not JSON, has unknown, missing or mistyped keys, or where its id is not
    the hash of its content.
    """
    file = folder / FILE
    data = read_strict_json(file, _TYPES)
    _check_keys(file, data["embedder"], EMBEDDER, "embedder.")
    for table in ("strategies", "contexts"):
        for name, entry in data[table].items():
            if not isinstance(entry, dict):
                _corrupt(file, f"{table}.{name} is not an object")
    if data["default_strategy"] not in data["strategies"]:
        _corrupt(file, f"default_strategy {data['default_strategy']!r} is not among its strategies")
    release = Release(**data)
    _check_id(file, release)
    return release


def read_current(paths: CollectionPaths) -> str | None:
    """The id of the release in service, None before the first publish. Raises CorruptBuild where CURRENT names none."""
    return read_pointer(paths.current, f"go back to a good one with {advised(paths, 'release rollback')}")


def read_pointer(file: Path, advice: str) -> str | None:
    """The release id in a one-line file, None without one. Raises CorruptBuild, with `advice`, for anything else."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return None
    line = text.decode("utf-8", "replace").strip()
    if not RELEASE_ID.fullmatch(line):
        raise CorruptBuild(f"{file}: {line[:60]!r} is not a release id; {advice}")
    return line


def read_strict_json(file: Path, types: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """A JSON object in a release's folder with exactly the keys of `types`, each of its type. Raises CorruptBuild."""
    try:
        data = json.loads(file.read_bytes(), parse_constant=lambda name: _corrupt(file, f"holds {name}"))
    except FileNotFoundError:
        _corrupt(file, "is missing")
    except ValueError as error:  # JSON and UTF-8 errors alike
        _corrupt(file, f"is not JSON ({error})")
    _check_keys(file, data, types, "")
    return dict(data)


def _check_keys(file: Path, data: object, types: Mapping[str, type | tuple[type, ...]], prefix: str) -> None:
    if not isinstance(data, dict):
        _corrupt(file, f"{prefix or 'the top level '}is not an object")
    if unknown := sorted(data.keys() - types.keys()):
        _corrupt(file, f"unknown key {prefix}{unknown[0]}")
    if missing := sorted(types.keys() - data.keys()):
        _corrupt(file, f"key {prefix}{missing[0]} is missing")
    for key, kind in types.items():
        if not isinstance(data[key], kind) or isinstance(data[key], bool):
            _corrupt(file, f"{prefix}{key} has the wrong type: {str(data[key])[:60]!r}")


def _check_id(file: Path, release: Release) -> None:
    if release.release_id != (actual := content_id(release)):
        _corrupt(file, f"says it is release {release.release_id}, but its content is that of {actual}")


def _corrupt(file: Path, what: str) -> NoReturn:
    raise CorruptBuild(f"{file}: {what}; {mend(owner(file.parent))}")
