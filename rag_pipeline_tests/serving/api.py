"""A small served collection behind a real application, and keys to ask it with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from rag_pipeline.schema import Document
from rag_pipeline.serving.app import create_app
from rag_pipeline.serving.keys import hash_key
from rag_pipeline.serving.settings import ServingSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document

SECRET_WORD = "zanzibar"
LOCAL = "http://127.0.0.1"

KEYS: Mapping[str, tuple[str | None, Sequence[str], Sequence[str]]] = {
    "ruth": ("ruth", ("finance",), ("read",)),
    "bob": ("bob", (), ("read",)),
    "public": (None, (), ("read",)),
    "bot": ("bot", (), ("read", "act-as")),
    "boss": ("boss", (), ("operate",)),
    "all": ("root", ("finance",), ("read", "operate", "act-as")),
}
"""Name -> identity, groups, scopes; the key itself is `token(name)`."""


def token(name: str) -> str:
    return f"rpk_{name}_0123456789"


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(name)}"}


def write_keys(path: Path, names: Sequence[str] = tuple(KEYS)) -> Path:
    tables = []
    for name in names:
        identity, groups, scopes = KEYS[name]
        lines = ["[[keys]]", f'name = "{name}"', f'sha256 = "{hash_key(token(name))}"', f"scopes = {list(scopes)!r}"]
        if identity is not None:
            lines += [f'identity = "{identity}"', f"groups = {list(groups)!r}"]
        tables.append("\n".join(lines))
    path.write_text("\n\n".join(tables).replace("'", '"'), "utf-8")
    return path


def documents() -> list[Document]:
    secret = f"The budget for {SECRET_WORD} is nine million."
    return [
        document("pump.md", "The pump moves oil.", "Replace the filter monthly.", category="guide", tags=("oil",)),
        document("budget.md", "The budget is decided in spring.", category="guide"),
        document("secret.md", secret, category="finance", access=("group:finance",), title=f"Plan {SECRET_WORD}"),
        document("tokyo.md", "東京大学に行く。", "The café 👩‍🚀 opens at 9.", language="ja"),
    ]


def settings_of(served: Served) -> Settings:
    own = CollectionSettings()
    return Settings(home=served.home.root, default_collection=served.collection, collections={served.collection: own})


@contextmanager
def serving(served: Served, *, base_url: str = LOCAL, **options: Any) -> Iterator[TestClient]:
    """A client of an application over `served`; `options` are fields of ServingSettings."""
    options.setdefault("requests_per_minute", 0)
    app = create_app(settings_of(served), serving=ServingSettings(**options))
    with TestClient(app, base_url=base_url, raise_server_exceptions=False) as client:
        yield client


def ask(client: TestClient, query: str = "pump oil", *, key: str | None = None, **body: Any) -> Any:
    headers = bearer(key) if key else {}
    return client.post("/api/rag/retrieve", json={"query": query, **body}, headers=headers)
