from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.index.open import Index, open_build
from rag_pipeline.index.records import open_records
from rag_pipeline_tests.stages import build, document, pumps


def test_records_are_those_of_the_tables(pump_index: Index) -> None:
    with pump_index.cursor() as cursor:
        stored = cursor.execute("SELECT chunk_id, section_id, lead, kind FROM chunks ORDER BY row").fetchall()
        documents = cursor.execute("SELECT doc_id, source, title, text FROM documents ORDER BY row").fetchall()
    records = pump_index.records
    shown = [records.chunk(row) for row in range(len(records.chunks))]
    assert [(c.chunk_id, c.section_id, c.lead, c.kind) for c in shown] == stored
    named = [records.document(row) for row in range(len(records.documents))]
    texts = [records.text(row) for row in range(len(records.texts))]
    assert [(d.doc_id, d.source, d.title, t) for d, t in zip(named, texts, strict=True)] == documents


def test_a_row_that_does_not_exist(pump_index: Index) -> None:
    for row in (-1, len(pump_index.records.chunks)):
        with pytest.raises(IndexError):
            pump_index.records.chunk(row)


def test_sections_by_id(pump_index: Index) -> None:
    rows = pump_index.records.section_rows(["pump.md#s0", "no such section", "agents.md#s0"])
    with pump_index.cursor() as cursor:
        stored = dict(cursor.execute("SELECT section_id, row FROM sections").fetchall())
    assert rows == [stored["pump.md#s0"], -1, stored["agents.md#s0"]]


def test_section_texts_stay_within_what_is_visible(pump_index: Index) -> None:
    wanted = ["pump.md#s0", "agents.md#s0", "no such section"]
    everything = pump_index.section_texts(wanted, visible=None)
    assert everything == {"pump.md#s0": "The pump moves oil through the valve.", "agents.md#s0": pumps()[1].text[10:45]}
    only_agents = np.array([record.doc_id == "agents.md" for record in pump_index.fetch(range(8))])
    assert pump_index.section_texts(wanted, visible=only_agents).keys() == {"agents.md#s0"}


def test_reading_opens_no_database(pump_index: Index) -> None:
    index = open_build(pump_index.folder)
    assert index.fetch([0])[0].doc_id == "agents.md"
    assert index._connection is None
    index.cursor().close()
    assert index._connection is not None
    index.close()


def test_texts_beyond_ascii_keep_their_code_points(tmp_path: Path) -> None:
    index = open_build(build(tmp_path, [document("t.md", "東京大学に行く。", "naïve 👩‍🔬 tail")]).folder)
    assert [r.content for r in index.fetch([0, 1])] == ["東京大学に行く。", "naïve 👩‍🔬 tail"]
    index.close()


def test_a_data_file_of_another_length(copied_build: Path) -> None:
    with (copied_build / "records" / "texts.bin").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ValueError, match="its offsets say"):
        open_records(copied_build)
