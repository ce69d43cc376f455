"""Where evaluations are logged: from the settings and the environment to one address that may be used, or a refusal.

Knows addresses only; MLflow is imported elsewhere.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.paths import Home
from rag_pipeline.settings.load import Settings

VARIABLE = "MLFLOW_TRACKING_URI"
SQLITE = "sqlite:///"
_SECRET_KEYS = frozenset({"password", "passwd", "pwd", "token", "sslpassword", "secret", "access_token"})
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Destination:
    uri: str
    """As MLflow takes it; may hold a password, so it is never stored or shown."""
    shown: str
    """The same without user, password and query."""
    database: Path | None
    """The file of a sqlite store."""
    artifacts: str | None
    """Where a new experiment's files go; None = the server decides."""
    experiment: str
    """First part of the experiments' names."""
    seconds: int
    lock: Path

    @property
    def has_pages(self) -> bool:
        """Whether a browser can open the address."""
        return self.uri.startswith(("http://", "https://"))


def destination_of(settings: Settings, *, environ: Mapping[str, str] = os.environ) -> Destination | None:
    """None where tracking is switched off. Raises InvalidSettings for a folder, or a password in the settings file."""
    own = settings.tracking
    if not own.enabled:
        return None
    home = Home(settings.home.absolute())
    asked = environ.get(VARIABLE, "").strip()
    if not asked and _holds_secret(own.uri):
        raise InvalidSettings(f"tracking.uri holds a password; put the address into {VARIABLE} instead")
    uri = _absolute(asked or own.uri or f"{SQLITE}{home.tracking_database}")
    _refuse_folder(uri, origin=VARIABLE if asked else "tracking.uri", home=home)
    is_database = not uri.startswith(("http://", "https://", "databricks"))
    return Destination(
        uri=uri,
        shown=shown(uri),
        database=_sqlite_file(uri),
        artifacts=(own.artifacts or home.tracking_artifacts.as_uri()) if is_database else None,
        experiment=own.experiment,
        seconds=own.seconds,
        lock=home.tracking_lock,
    )


def shown(uri: str) -> str:
    """The address without what may be secret in it."""
    return _USER_INFO.sub("", uri).partition("?")[0]


def without_secrets(text: str, destination: Destination) -> str:
    """An error message as it may be stored: the address and its password do not stand in it."""
    text = text.replace(destination.uri, destination.shown)
    password = _password(destination.uri)
    if password:
        text = text.replace(password, "***").replace(unquote(password), "***")
    return _USER_INFO.sub("", text)


def _refuse_folder(uri: str, *, origin: str, home: Home) -> None:
    """MLflow's folder store is not safe with several writers, and MLflow itself refuses it by now."""
    scheme = uri.partition(":")[0]
    if ("://" not in uri and scheme != "databricks") or scheme in ("file", "file+json"):
        raise InvalidSettings(
            f"{origin} = {uri!r} is a folder, and MLflow keeps no runs in folders any more; unset it to use "
            f"{home.tracking_database}, or name a server (http://...) or a database (sqlite:///...)"
        )


def _absolute(uri: str) -> str:
    """A relative sqlite file lies where the program was started; a stored address must mean the same later."""
    file = _sqlite_file(uri)
    return f"{SQLITE}{file}" if file is not None else uri


def _sqlite_file(uri: str) -> Path | None:
    """The file of a plain sqlite address; None for any other address and for a database in memory."""
    rest = uri.removeprefix(SQLITE)
    plain = rest and rest != uri and "?" not in rest and not rest.startswith(":memory:")
    return Path(unquote(rest)).absolute() if plain else None


def _holds_secret(uri: str) -> bool:
    return bool(_password(uri)) or bool(_SECRET_KEYS & {key.lower() for key in parse_qs(urlsplit(uri).query)})


def _password(uri: str) -> str | None:
    try:
        return urlsplit(uri).password
    except ValueError:  # not an address at all; MLflow says so
        return None
