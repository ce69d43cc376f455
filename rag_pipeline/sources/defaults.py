"""Folder defaults: `_defaults.toml` gives the documents in and below its folder what they don't state themselves.

Lives here: parsing one such file and finding what holds for a path. The nearest folder wins, key by key. A file that
can't be used may have held an access list, so documents that would have got theirs from it admit nobody.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rag_pipeline.settings.base import suggestion
from rag_pipeline.sources.metadata import KEYS, Metadata, read_metadata
from rag_pipeline.text.repair import repair_text

NAME = "_defaults.toml"


@dataclass(frozen=True, slots=True)
class FolderDefaults:
    metadata: Metadata
    problem: str = ""
    """Why the file can't be used."""


def parse_defaults(data: bytes) -> FolderDefaults:
    """Parse one file; an unknown key or an unusable value makes the whole file unusable."""
    try:
        values = tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        return broken_defaults(f"not readable as TOML: {error}")
    unknown = [key for key in values if key not in KEYS]
    if unknown:
        hint = suggestion(unknown[0], KEYS)
        return broken_defaults(f"unknown key {unknown[0]!r}{hint}; known: {', '.join(sorted(KEYS))}")
    metadata = read_metadata(values)
    return broken_defaults("; ".join(metadata.notices)) if metadata.notices else FolderDefaults(metadata)


def broken_defaults(problem: str) -> FolderDefaults:
    """What holds below a file that can't be used."""
    return FolderDefaults(Metadata(access=()), problem)


def defaults_for(path: str, folders: Mapping[str, FolderDefaults]) -> Metadata:
    """What holds for the document at `path`. `folders` goes by folder path; "" is the source's top folder."""
    parts = path.split("/")[:-1]
    found = Metadata()
    for depth in range(len(parts) + 1):
        folder = "/".join(parts[:depth])
        if folder not in folders:
            continue
        here = folders[folder]
        found = here.metadata.over(found)
        if here.problem:
            name = f"{folder}/{NAME}" if folder else NAME
            notice = f"{repair_text(name)} can't be used: without a nearer access list, nobody is admitted"
            found = replace(found, notices=(*found.notices, notice))
    return found
