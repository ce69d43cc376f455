from pathlib import Path

from rag_pipeline.advice import advised, mend, owner
from rag_pipeline.paths import CollectionPaths

GUIDES = CollectionPaths(Path("data/guides"))


def test_every_command_names_its_collection() -> None:
    assert advised(GUIDES, "reindex") == "`rag-pipeline reindex -c guides`"
    assert "`rag-pipeline reindex -c guides`" in mend(GUIDES)
    assert "`rag-pipeline release rollback -c guides`" in mend(GUIDES)


def test_whose_a_folder_is() -> None:
    for folder in (GUIDES.build("b" * 20), GUIDES.release("a" * 20)):
        assert owner(folder).root == GUIDES.root.absolute()
