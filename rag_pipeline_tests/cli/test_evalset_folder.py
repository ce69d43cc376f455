from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from rag_pipeline.cli.evalset_folder import EvalSetFolder


def test_the_working_directory_is_named_by_a_dot(tmp_path: Path) -> None:
    assert EvalSetFolder().convert(".", None, None) == Path()
    assert EvalSetFolder().convert(str(tmp_path / "new"), None, None) == tmp_path / "new"
    with pytest.raises(click.BadParameter, match="is empty; name a folder"):
        EvalSetFolder().convert("", None, None)


@pytest.mark.parametrize("name", ["check", "new", "from-log"])
@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_name_is_a_usage_error_and_nothing_is_written(
    run: Callable[..., Any], tmp_path: Path, name: str, empty: str
) -> None:
    told = run("evalset", name, empty)
    assert told.code == 2 and "is empty; name a folder" in told.err
    assert list(tmp_path.iterdir()) == []
