"""What the README shows is run: its commands, its Python, its settings; and the files it names are there."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.settings.load import load_settings
from rag_pipeline_tests.sites import data_directory, write_site

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(info: str) -> list[str]:
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.model
def test_its_commands_and_its_python_run(tmp_path, exported_models, monkeypatch, capsys):
    write_site(tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_PIPELINE_HOME", str(data_directory(tmp_path / "data", exported_models)))
    commands = [line for block in blocks("sh run") for line in block.splitlines() if line.startswith("rag-pipeline ")]
    assert len(commands) >= 3
    for command in commands:
        with pytest.raises(SystemExit) as raised:
            main(shlex.split(command, comments=True)[1:])
        assert raised.value.code == 0, (command, capsys.readouterr())
    (code,) = blocks("python run")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("block", blocks("toml"))
def test_its_settings_are_accepted(tmp_path, block):
    tomllib.loads(block)
    file = tmp_path / "rag_pipeline.toml"
    file.write_text(block, "utf-8")
    load_settings(file, environ={})


def test_the_folders_and_files_it_names_exist():
    named = re.findall(r"\]\(([\w./]+)\)", README) + re.findall(r"^\| `([\w/]+/)` \|", README, re.MULTILINE)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_checks_it_explains_are_those_that_block():
    from rag_pipeline_tests.defs.test_definitions import BLOCKING

    table = README.split("| check | what a failure means |")[1].split("\n\n")[0]
    explained = set(re.findall(r"`(\w+)`", table))
    assert {name for names in BLOCKING.values() for name in names} <= explained


def test_the_formats_it_lists_are_those_that_are_read():
    from rag_pipeline.sources.registry import READERS

    listed = README.split("Read are Markdown")[1].split("Other files are skipped")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == {*READERS, "formats"}


def test_the_routes_it_names_are_served(tmp_path):
    from rag_pipeline.serving.app import create_app
    from rag_pipeline.serving.settings import ServingSettings

    app = create_app(load_settings(environ={"RAG_PIPELINE_HOME": str(tmp_path)}), serving=ServingSettings())
    named = set(re.findall(r"`(?:GET|POST) (/\S+)`", README))
    assert len(named) >= 3 and named <= set(app.openapi()["paths"])
