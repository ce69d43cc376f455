"""A collection that is indexed but not in the settings, as `reindex --source` leaves it: how it is read again."""

import json
import shlex
from contextlib import closing

import duckdb

from rag_pipeline.errors import UnknownName
from rag_pipeline.index.duckdb_settings import memory_connection
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.reader import collections
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings


def described(settings: Settings, name: str, *, tell_folder: bool = True) -> CollectionSettings:
    """The settings of a collection that is to be read again.

    Raises UnknownName; for one that is indexed, it gives the command that names its folder. `tell_folder` False keeps
    where that lies from a reader on another machine.
    """
    home = Home(settings.home)
    if name in settings.collections or name not in collections(home):
        return settings.collection(name)
    folder = last_folder(home.collection(name)) if tell_folder else None
    source, place = (
        (shlex.quote(folder), f"path = {json.dumps(folder, ensure_ascii=False)}")
        if folder
        else ("FOLDER", "the path of its folder")
    )
    raise UnknownName(
        f"collection {name!r} is indexed, but its sources are not in the settings; run"
        f" `rag-pipeline reindex --source {source} -c {name}`, or keep them in rag_pipeline.toml:"
        f" [[collections.{name}.sources]] with {place}"
    )


def last_folder(paths: CollectionPaths) -> str | None:
    """The one folder that the latest snapshot was read from; None where no single one can be told.

    An id is the path inside the folder. With several sources it begins with the source's name, which may be the
    folder's own; a document without a folder in its id rules that out.
    """
    try:
        key = paths.latest("snapshots").read_text("utf-8").strip()
        file = str(paths.snapshot(key) / "documents.parquet")
        with closing(memory_connection()) as database:
            rows = database.execute("SELECT doc_id, source FROM read_parquet(?)", [file]).fetchall()
    except (OSError, UnicodeDecodeError, duckdb.Error):
        return None
    folders = {source.removesuffix(f"/{doc_id}") if source.endswith(f"/{doc_id}") else None for doc_id, source in rows}
    if len(folders) != 1 or all("/" in doc_id for doc_id, _ in rows):
        return None
    return folders.pop() or None
