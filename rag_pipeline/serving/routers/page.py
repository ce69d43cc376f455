"""The playground page and its files, from the package; no build step, no foreign host."""

from collections.abc import Mapping
from importlib.resources import files

from fastapi import APIRouter, Response

from rag_pipeline.serving.problems import Problem

router = APIRouter(include_in_schema=False)
FILES: Mapping[str, str] = {
    "playground.css": "text/css; charset=utf-8",
    "api.js": "text/javascript; charset=utf-8",
    "state.js": "text/javascript; charset=utf-8",
    "results.js": "text/javascript; charset=utf-8",
    "document.js": "text/javascript; charset=utf-8",
    "playground.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@router.get("/")
async def page() -> Response:
    return _file("index.html", "text/html; charset=utf-8")


@router.get("/page/{name}")
async def page_file(name: str) -> Response:
    if name not in FILES:
        raise Problem(404, "NotFound", "no such page")
    return _file(name, FILES[name])


def _file(name: str, media_type: str) -> Response:
    content = files("rag_pipeline.serving").joinpath("page", name).read_bytes()
    return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})
