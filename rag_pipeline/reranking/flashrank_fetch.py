"""Fetching a FlashRank model: time limit, size cap, checksum before unpacking, a folder only when it is complete."""

import hashlib
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.reranking.flashrank import FILES, model_file

OPTIONAL_FILES = ("vocab.txt",)
MAX_BYTES = 600_000_000
"""Of the archive, and of what is unpacked from it."""


def fetch_model(
    name: str, models: Path, *, sha256: str, url: str = "", seconds: float = 600.0, max_bytes: int = MAX_BYTES
) -> Path:
    """`models/<name>`, fetched from `url` (default: where the library keeps it) unless it is there already.

    `sha256` is the archive's and is required: these files are run. Raises ModelUnavailable, MissingExtra.
    """
    wanted = (model_file(name), *FILES)
    folder = models / name
    if all((folder / file).is_file() for file in wanted):
        return folder
    if not sha256:
        raise ModelUnavailable(f"no sha256 is given for {name}; pin the hash of the archive you trust")
    models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=models, prefix=f".{name}.") as temporary:
        archive, made = Path(temporary) / "model.zip", Path(temporary) / name
        _download(url or _library_url(name), archive, sha256.lower(), seconds=seconds, max_bytes=max_bytes)
        made.mkdir()
        _unpack(archive, made, wanted, max_bytes=max_bytes)
        if folder.exists():  # what an earlier fetch left half done
            shutil.rmtree(folder)
        made.rename(folder)
    return folder


def _library_url(name: str) -> str:
    from flashrank.Config import model_url

    return str(model_url.format(name))


def _download(url: str, to: Path, sha256: str, *, seconds: float, max_bytes: int) -> None:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtra("httpx", "rerank") from error
    deadline, size, digest = time.monotonic() + seconds, 0, hashlib.sha256()
    try:
        with (
            httpx.stream("GET", url, timeout=min(30.0, seconds), follow_redirects=True) as response,
            to.open("wb") as file,
        ):
            if response.status_code != 200:
                raise ModelUnavailable(f"{url} answers {response.status_code}; check the URL")
            for piece in response.iter_bytes():
                size += len(piece)
                if size > max_bytes:
                    raise ModelUnavailable(f"{url} sends more than {max_bytes} bytes; check the URL")
                if time.monotonic() > deadline:
                    raise ModelUnavailable(f"{url} took longer than {seconds:g} s; try again or allow more time")
                digest.update(piece)
                file.write(piece)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ModelUnavailable(
            f"{url} can't be fetched ({type(error).__name__}); check the URL and the network"
        ) from error
    if digest.hexdigest() != sha256:
        raise ModelUnavailable(
            f"{url}: sha256 is {digest.hexdigest()}, expected {sha256}; nothing was unpacked, check the URL and the pin"
        )


def _unpack(archive: Path, to: Path, wanted: tuple[str, ...], *, max_bytes: int) -> None:
    """Only the wanted files, by their own names: no path of the archive is followed."""
    try:
        with zipfile.ZipFile(archive) as zipped:
            by_name = {Path(entry.filename).name: entry for entry in zipped.infolist() if not entry.is_dir()}
            missing = [file for file in wanted if file not in by_name]
            if missing:
                raise ModelUnavailable(f"the archive lacks {', '.join(missing)}; give the URL of a FlashRank model")
            chosen = [by_name[file] for file in (*wanted, *OPTIONAL_FILES) if file in by_name]
            if sum(entry.file_size for entry in chosen) > max_bytes:
                raise ModelUnavailable(f"the archive unpacks to more than {max_bytes} bytes; check the URL")
            for entry in chosen:
                with zipped.open(entry) as source, (to / Path(entry.filename).name).open("wb") as target:
                    shutil.copyfileobj(source, target)
    except zipfile.BadZipFile as error:
        raise ModelUnavailable(f"the archive is no zip file ({error}); give the URL of a FlashRank model") from error
