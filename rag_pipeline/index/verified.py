"""Verifying a build without repeating what its unchanged bytes have already answered.

A build's tables and sidecars are compared with each other once, in full; after that every file is hashed again, and
while each agrees with the manifest that was compared, so do the contents. Within a process a file is hashed once, as
long as its identity stays. A build that was never compared, by this code, is verified in full.
"""

from datetime import UTC, datetime
from pathlib import Path

from rag_pipeline.file_identity import Identity, identity, is_settled
from rag_pipeline.index.files import MANIFEST
from rag_pipeline.index.manifest import build_files, file_hash
from rag_pipeline.index.verify import Problem, file_problems, verify_build
from rag_pipeline.kept import recall, remember

MOST = 8
"""Builds that are remembered: the one in service, the candidate, and those that may come back."""
Identities = tuple[tuple[str, Identity], ...]
_sound: dict[Path, tuple[Identities, str, str | None]] = {}
"""What this process found sound: the files as they were, the code that found it, and `contents_from`."""


class VerifiedBuild:
    """A `verify_build` that keeps in the file `kept` which builds, by the hash of their manifest, it found sound.

    `code` says which code verifies; another one verifies everything anew.
    """

    def __init__(self, kept: Path, *, code: str) -> None:
        self._kept = kept
        self._code = code
        self.contents_from: str | None = None
        """When the contents were compared, where the last call did not compare them; else None."""

    def __call__(self, folder: Path, *, deep: bool = True) -> tuple[Problem, ...]:
        """As `verify_build`."""
        self.contents_from = None
        if not deep:
            return verify_build(folder, deep=False)
        found = _identities(folder)
        settled = found is not None and all(is_settled(one) for _, one in found)
        known = _sound.get(folder.absolute())
        if found is not None and known is not None and known[:2] == (found, self._code):
            self.contents_from = known[2]
            return ()
        at, problems = self._problems(folder)
        if not problems and found is not None and settled and found == _identities(folder):
            _sound[folder.absolute()] = found, self._code, at
        return problems

    def _problems(self, folder: Path) -> tuple[str | None, tuple[Problem, ...]]:
        """And when the contents were compared."""
        manifest = _manifest_hash(folder)
        compared = self._compared()
        if manifest in compared:
            self.contents_from = compared[manifest]
            return self.contents_from, file_problems(folder)
        problems = verify_build(folder)
        # The manifest names the checksum of every file, so its own hash stands for all of them.
        if problems or manifest is None or manifest != _manifest_hash(folder):
            return None, problems
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        latest = sorted([*compared.items(), (manifest, at)], key=lambda pair: pair[1])[-MOST:]
        remember(self._kept, self._binding(), dict(latest))
        return at, problems

    def _compared(self) -> dict[str, str]:
        """When the contents of builds were compared, by the hash of their manifest."""
        known = recall(self._kept, self._binding())
        return dict(known.value) if known is not None else {}

    def _binding(self) -> dict[str, str]:
        return {"code": self._code}


def _manifest_hash(folder: Path) -> str | None:
    try:
        return file_hash(folder / MANIFEST)
    except OSError:
        return None


def _identities(folder: Path) -> Identities | None:
    """Every file of the build; None where one went away meanwhile."""
    try:
        return tuple((name, identity(folder / name)) for name in (*build_files(folder), MANIFEST))
    except OSError:
        return None
