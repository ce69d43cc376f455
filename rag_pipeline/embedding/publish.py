"""A finished folder under its final name: durable, at once, and fine when another process was quicker."""

from pathlib import Path

from rag_pipeline.durable import fsync_file, fsync_folder


def publish_folder(partial: Path, folder: Path, *, last: str) -> None:
    """Flush `partial` and rename it to `folder`; where that exists and holds the file `last`, it is kept instead.

    For folders named by their content, where both hold the same. Raises OSError otherwise.
    """
    for path in partial.iterdir():
        fsync_file(path)
    fsync_folder(partial)
    try:
        partial.rename(folder)
    except OSError:
        if not (folder / last).is_file():
            raise
    fsync_folder(folder.parent)
