"""A small documentation site and a data directory with the exported model, for tests that run the whole pipeline."""

from pathlib import Path

from rag_pipeline.settings.build import SourceSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings, load_settings
from rag_pipeline.settings.tracking import TrackingSettings

PAGES = {
    "keys/rotation.md": """---
title: Key rotation
category: security
updated: 2026-03-01
---
# Key rotation

Signing keys are rotated every 90 days. Run `rotate_keys --all` from the vault host, then restart the gateway.

## When rotation fails

Error E-8003 means that the old key is still pinned by a session. Close the session and run the command again.
""",
    "keys/storage.md": """# Key storage

Private keys are kept in the hardware module of the vault host and never leave it, not even for backups.
""",
    "guide/start.md": """# First steps

Install the command line tool, log in with your work account and create a project from the starter template.

## Projects

A project groups agents, their memory and their schedules. Deleting a project deletes all three after seven days.
""",
    "people/salaries.md": """---
access: [group:people-ops]
---
# Salary bands

Band four begins at 81,500 and ends at 97,250 a year; the people team reviews all bands each April.
""",
    "code/rotate.py": '''"""Rotate signing keys, oldest first."""


def rotate_keys(vault, *, days=90):
    """Replace every signing key older than `days` and return the number of keys replaced."""
    return sum(vault.replace(key) for key in vault.keys() if key.age_days > days)
''',
}
COLLECTION = "site"


def write_site(folder: Path) -> Path:
    for name, text in PAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def data_directory(folder: Path, models: Path) -> Path:
    """A data directory that already has the exported model, so that no test waits for torch."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models").symlink_to(models, target_is_directory=True)
    return folder


def site_settings(home: Path, source: Path, **fields: object) -> Settings:
    """Tracking is off: importing MLflow and making its database would cost every test seconds."""
    own = CollectionSettings.model_validate({"sources": (SourceSettings(path=str(source)),), **fields})
    settings = load_settings(environ={})
    off = TrackingSettings(enabled=False)
    return settings.model_copy(update={"home": home, "collections": {COLLECTION: own}, "tracking": off})
