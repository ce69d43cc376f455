"""Which code makes something, as one hash, so that what other code made is not taken for its work."""

import hashlib
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parent


@cache
def made_by(packages: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    """20 hex digits over the source files of these sub-packages and modules, and the versions of these libraries and of
    Python, whose own tables of characters differ."""
    digest = hashlib.sha256(f"python {sys.version_info[0]}.{sys.version_info[1]}\n".encode())
    for name in packages:
        folder = PACKAGE / name
        for file in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]:
            digest.update(f"{file.relative_to(PACKAGE).as_posix()}\n".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    for library in libraries:
        digest.update(f"{library} {_version(library)}\n".encode())
    return digest.hexdigest()[:20]


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
