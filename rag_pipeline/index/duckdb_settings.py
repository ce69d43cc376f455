"""The only place that knows how DuckDB is opened here: settings, extensions, read-only or for building.

Extensions come from their wheels and are never fetched: `LOAD 'path'`, no INSTALL. Readers cannot touch the file system
or change a setting.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import duckdb

from rag_pipeline.errors import IncompatibleBuild, MissingExtra

Extension = Literal["vss", "fts"]
EXTENSIONS: tuple[Extension, ...] = ("vss", "fts")

BUILD_MEMORY = "1GB"
READ_MEMORY = "1GB"
READ_THREADS = 2
ATTACHED = "build"
"""Name of the build's database inside a reader's connection."""

Config = dict[str, str | bool | int | float | list[str]]

_NO_FETCHING: Config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def connect_for_building(path: Path) -> duckdb.DuckDBPyConnection:
    """A writable database with vss and fts loaded. HNSW in a file needs the persistence setting."""
    config: Config = {**_NO_FETCHING, "memory_limit": BUILD_MEMORY, "temp_directory": str(path.parent / "spill")}
    connection = duckdb.connect(str(path), config=config)
    load_extensions(connection)
    connection.execute("SET GLOBAL hnsw_enable_experimental_persistence = true")
    # It draws over our own progress, and into logs. As a SET it fails in a notebook without ipywidgets.
    connection.execute("PRAGMA disable_progress_bar")
    return connection


def connect_reader(
    path: Path, *, extensions: tuple[Extension, ...] = (), ef_search: int | None = None
) -> duckdb.DuckDBPyConnection:
    """A locked in-memory database with the file attached read-only, and the extensions loaded before it.

    Attached, and not opened itself: a process that has a file open can't open it again with other settings, and people
    look into the index beside `retrieve`. Cursors begin outside the attached database: `reader_cursor` enters it.
    """
    config: Config = {**_NO_FETCHING, "memory_limit": READ_MEMORY, "threads": str(READ_THREADS)}
    connection = duckdb.connect(":memory:", config=config)
    for name in extensions:
        load(connection, name)
    if ef_search is not None:
        connection.execute(f"SET hnsw_ef_search = {int(ef_search)}")
    connection.execute(f"ATTACH {_quoted(path)} AS {ATTACHED} (READ_ONLY)")
    connection.execute(f"USE {ATTACHED}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def reader_cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    cursor = connection.cursor()
    cursor.execute(f"USE {ATTACHED}")
    return cursor


def memory_connection() -> duckdb.DuckDBPyConnection:
    """An empty database that fetches nothing, to try the extensions on."""
    return duckdb.connect(":memory:", config=dict(_NO_FETCHING))


def load_extensions(connection: duckdb.DuckDBPyConnection) -> None:
    """Both of them. Raises like `load`."""
    for name in EXTENSIONS:
        load(connection, name)


def load(connection: duckdb.DuckDBPyConnection, name: Extension) -> None:
    """Raises MissingExtra without the extension's wheel, IncompatibleBuild where its version is not DuckDB's."""
    connection.execute(f"LOAD {_quoted(extension_file(name))}")


def extension_file(name: Extension, *, version: str = duckdb.__version__) -> Path:
    """The extension inside its wheel. Raises like `load`."""
    package = f"duckdb_extension_{name}"
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(f"duckdb-extension-{name}", "base")
    folder = Path(next(iter(spec.submodule_search_locations))) / "extensions"
    file = folder / f"v{version}" / f"{name}.duckdb_extension"
    if not file.is_file():
        found = ", ".join(sorted(p.name for p in folder.glob("v*"))) or "none"
        raise IncompatibleBuild(
            f"the wheel duckdb-extension-{name} is for DuckDB {found}, but DuckDB is v{version};"
            f" install one version of both: pip install duckdb=={version} duckdb-extension-{name}=={version}"
        )
    return file


@contextmanager
def registered(connection: duckdb.DuckDBPyConnection, name: str, table: object) -> Iterator[None]:
    """An Arrow table or stream that SQL knows by `name` meanwhile."""
    connection.register(name, table)
    try:
        yield
    finally:
        connection.unregister(name)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
