"""Verifying the build in service without repeating what its unchanged bytes have already answered.

A build's tables and sidecars are compared with each other once; later runs hash every file again, and while each agrees
with the manifest that was verified, so do the contents. Within a process a file is hashed once, as long as its identity
stays. Any other build is verified in full, every time.
"""

from pathlib import Path

from rag_pipeline.file_identity import Identity, identity, is_settled
from rag_pipeline.index.files import MANIFEST
from rag_pipeline.index.manifest import build_files, file_hash
from rag_pipeline.index.verify import Problem, file_problems, verify_build
from rag_pipeline.kept import Binding, recall, remember

Identities = tuple[tuple[str, Identity], ...]
_sound: dict[Path, tuple[Identities, str, str | None]] = {}
"""What this process found sound: the files as they were, the code that found it, and `contents_from`."""


class VerifiedBuild:
    """A `verify_build` that knows one build: `served`, whose verification is kept in the file `kept`.

    `code` says which code verifies; another one verifies everything anew.
    """

    def __init__(self, served: Path | None, *, kept: Path, code: str) -> None:
        self._served = served.absolute() if served is not None else None
        self._kept = kept
        self._code = code
        self.contents_from: str | None = None
        """When the contents were compared, where the last call took that from an earlier run; else None."""

    def __call__(self, folder: Path, *, deep: bool = True) -> tuple[Problem, ...]:
        """As `verify_build`."""
        self.contents_from = None
        if not deep or folder.absolute() != self._served:
            return verify_build(folder, deep=deep)
        found = _identities(folder)
        settled = found is not None and all(is_settled(one) for _, one in found)
        known = _sound.get(folder.absolute())
        if found is not None and known is not None and known[:2] == (found, self._code):
            self.contents_from = known[2]
            return ()
        problems = self._problems(folder)
        if not problems and found is not None and settled and found == _identities(folder):
            _sound[folder.absolute()] = found, self._code, self.contents_from
        return problems

    def _problems(self, folder: Path) -> tuple[Problem, ...]:
        binding = self.binding(folder)
        known = recall(self._kept, binding) if binding is not None else None
        if known is not None:
            self.contents_from = known.at
            return file_problems(folder)
        problems = verify_build(folder)
        if not problems and binding is not None:
            remember(self._kept, binding, None)
        return problems

    def binding(self, folder: Path) -> Binding | None:
        """The manifest names the checksum of every file, so its own hash stands for all of them; None without one."""
        try:
            return {"manifest": file_hash(folder / MANIFEST), "code": self._code}
        except OSError:
            return None


def _identities(folder: Path) -> Identities | None:
    """Every file of the build; None where one went away meanwhile."""
    try:
        return tuple((name, identity(folder / name)) for name in (*build_files(folder), MANIFEST))
    except OSError:
        return None
