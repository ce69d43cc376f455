"""manifest.json: what a build was made from, what it holds, and a checksum of every file.

The manifest carries a checksum of itself, so a flipped byte in it is found like one anywhere else.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rag_pipeline.advice import advised, owner
from rag_pipeline.errors import CorruptBuild, IncompatibleBuild
from rag_pipeline.index.build_key import FORMAT_VERSION
from rag_pipeline.index.files import MANIFEST, WRITE_AHEAD_LOG

BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileEntry:
    sha256: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Manifest:
    format_version: int
    build_key: str
    created: str
    """ISO 8601, UTC. Two builds of the same inputs differ in this and in the checksum of `index.duckdb`: the same rows,
    but DuckDB's threads take its blocks in any order."""
    snapshot_key: str
    chunking_key: str
    vectors_key: str
    default_access: str
    embedder: Mapping[str, str | int]
    settings: Mapping[str, object]
    counts: Mapping[str, int]
    """documents, sections, chunks, ledger, terms, postings; unembedded: chunks left out for want of a sound vector;
    restricted: documents with an access list; hnsw: 1 where there is such an index; lists: inverted lists, 0 for none,
    and probes: how many of them a search reads."""
    versions: Mapping[str, str]
    files: Mapping[str, FileEntry]

    @property
    def documents(self) -> int:
        return self.counts["documents"]

    @property
    def sections(self) -> int:
        return self.counts["sections"]

    @property
    def chunks(self) -> int:
        return self.counts["chunks"]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    body = asdict(manifest)
    text = json.dumps({**body, "checksum": _checksum(body)}, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", "utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Raises CorruptBuild where it is missing or damaged, IncompatibleBuild where its format is another one."""
    path = folder / MANIFEST
    try:
        body = json.loads(path.read_text("utf-8"))
        checksum = body.pop("checksum")
        version = body["format_version"]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise CorruptBuild(f"{path}: not readable as a manifest ({error}); build the index again") from error
    if version != FORMAT_VERSION:
        raise IncompatibleBuild(
            f"{folder.name}: the build has format {version}, this version of rag_pipeline reads format"
            f" {FORMAT_VERSION}; re-index with this version, or serve the build with the one that made it"
        )
    if checksum != _checksum(body):
        raise CorruptBuild(f"{path}: its content does not match its own checksum; build the index again")
    files = {name: FileEntry(**entry) for name, entry in body.pop("files").items()}
    return Manifest(**body, files=files)


def file_entries(folder: Path) -> dict[str, FileEntry]:
    """Every file below `folder` but the manifest, by POSIX path."""
    return {name: FileEntry(hash_, (folder / name).stat().st_size) for name, hash_ in file_hashes(folder).items()}


def file_hashes(folder: Path) -> dict[str, str]:
    """Of the same files; several at a time."""
    names = list(build_files(folder))
    with ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(lambda name: file_hash(folder / name), names), strict=True))


def build_files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != MANIFEST:
            yield name


def file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """The cheap check at opening. Raises CorruptBuild for a missing, cut or grown file and for a write-ahead log."""
    for name, entry in manifest.files.items():
        try:
            size = (folder / name).stat().st_size
        except OSError:
            size = -1
        if size != entry.size:
            found = "is missing" if size < 0 else f"has {size} bytes"
            raise CorruptBuild(
                f"{folder / name}: {found}, the manifest says {entry.size};"
                f" run {advised(owner(folder), 'release verify')}, then roll back or re-index"
            )
    log = folder / WRITE_AHEAD_LOG
    if log.exists():
        raise CorruptBuild(f"{log}: a finished build has no write-ahead log, so someone wrote to it; re-index")


def _checksum(body: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
