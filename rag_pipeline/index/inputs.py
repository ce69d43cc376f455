"""What a build is made from, and whether the three stages belong together: checked before any work."""

import json
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.errors import InvalidSource
from rag_pipeline.index.snapshot_of import snapshot_of_chunking


@dataclass(frozen=True, slots=True)
class Inputs:
    """The folders of the three stages; a folder's name is its key."""

    snapshot: Path
    chunking: Path
    vectors: Path

    def ledgers(self) -> list[str]:
        return [str(folder / "ledger.parquet") for folder in (self.snapshot, self.chunking, self.vectors)]

    def check(self, *, fingerprint: str) -> None:
        """Raises InvalidSource for a stage that did not finish, or that was made from another one than given here."""
        needed = {
            self.snapshot: ("documents.parquet", "ledger.parquet"),
            self.chunking: ("sections.parquet", "chunks.parquet", "ledger.parquet"),
            self.vectors: ("vectors.npy", "rows.npy", "ledger.parquet", "vectors.json"),
        }
        for folder, names in needed.items():
            for name in names:
                if not (folder / name).is_file():
                    raise InvalidSource(f"{folder / name} is missing; run the stage that writes it again")
        card = json.loads((self.vectors / "vectors.json").read_text("utf-8"))
        for what, found, expected in (
            ("chunking was made from snapshot", snapshot_of_chunking(self.chunking), self.snapshot.name),
            ("vectors were made from chunking", card.get("chunking"), self.chunking.name),
            ("vectors were made by model", card.get("fingerprint"), fingerprint),
        ):
            if found != expected:
                raise InvalidSource(f"the {what} {found}, not {expected}; run the later stage again")
