from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from rag_pipeline.errors import IncompatibleBuild, MissingExtra
from rag_pipeline.index import duckdb_settings
from rag_pipeline.index.duckdb_settings import (
    connect_for_building,
    extension_file,
    load_extensions,
    memory_connection,
    registered,
)


def test_extensions_come_from_their_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ~/.duckdb that holds a copy hides a missing step, so HOME is empty here."""
    monkeypatch.setenv("HOME", str(tmp_path))
    connection = memory_connection()
    load_extensions(connection)
    loaded = connection.execute("SELECT extension_name FROM duckdb_extensions() WHERE loaded").fetchall()
    assert {("vss",), ("fts",)} <= set(loaded)
    connection.close()
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_of_another_version() -> None:
    with pytest.raises(IncompatibleBuild, match=r"is for DuckDB v1\.5\.5, but DuckDB is v9\.9\.9.*pip install"):
        extension_file("vss", version="9.9.9")


def test_a_wheel_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_settings, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="duckdb-extension-fts"):
        extension_file("fts")


def test_building_allows_hnsw_in_a_file(tmp_path: Path) -> None:
    connection = connect_for_building(tmp_path / "it's.duckdb")
    connection.execute("CREATE TABLE t (v FLOAT[2]); CREATE INDEX i ON t USING HNSW (v) WITH (metric = 'cosine')")
    connection.execute("CHECKPOINT")
    connection.close()
    reader = duckdb_settings.connect_reader(tmp_path / "it's.duckdb", extensions=("vss",), ef_search=100)
    assert reader.execute("SELECT current_setting('hnsw_ef_search')").fetchall() == [(100,)]
    with pytest.raises(duckdb.Error):
        reader.execute("INSERT INTO t VALUES ([1, 2])")
    reader.close()


def test_a_table_is_known_by_its_name_only_meanwhile() -> None:
    connection = memory_connection()
    with pytest.raises(ZeroDivisionError), registered(connection, "given", pa.table({"n": [1, 2]})):
        assert connection.execute("SELECT sum(n) FROM given").fetchall() == [(3,)]
        raise ZeroDivisionError
    with pytest.raises(duckdb.CatalogException):
        connection.execute("FROM given")
    connection.close()
