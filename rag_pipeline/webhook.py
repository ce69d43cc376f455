"""Telling a chat or an on-call service about a fault: one small JSON object, posted to an address in the environment.

RAG_PIPELINE_ALERT_WEBHOOK   where to; https, or http on this machine. It often holds a key, so it is never shown.

What is posted names places (collection, job, step, check) and says what failed in our own words. Whatever is
quoted is taken out of it: probes are headings and sentences of documents, and must not reach a third party.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.http_json import HttpPolicy, HttpReply, JsonPoster

VARIABLE = "RAG_PIPELINE_ALERT_WEBHOOK"
POLICY = HttpPolicy(seconds=15.0, attempts=3, wait=1.0)
LONGEST_MESSAGE = 400
_QUOTED = re.compile(r"(?<!\w)(['\"]).*?(?:(?<!\\)\1(?!\w)|$)", re.DOTALL)
"""An apostrophe inside a word opens and closes nothing; a passage that is never closed reaches to the end."""
_QUESTIONS = re.compile(r"(?:\. )?worse: .*", re.DOTALL)
_ADDRESS = re.compile(r"([a-z][a-z0-9+.\-]*://)[^\s]*", re.IGNORECASE)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|WEBHOOK", re.IGNORECASE)
SHORTEST_SECRET = 6


@dataclass(frozen=True, slots=True)
class Alert:
    kind: str
    """"run_failed", "release_refused", "regression" or "latency"."""
    collection: str
    job: str
    run_id: str
    step: str | None
    """The first that failed."""
    checks: tuple[str, ...]
    """Names of the checks that failed."""
    error: str | None
    """Class of the error."""
    message: str

    @property
    def text(self) -> str:
        """One line for people; chat services show the field of this name."""
        where = f"{self.collection}: {self.job} ({self.run_id[:8]})"
        what = ", ".join((*([self.step] if self.step else []), *self.checks))
        return f"{where} {self.kind.replace('_', ' ')}{f' at {what}' if what else ''}: {self.message}"


def webhook(environ: Mapping[str, str] = os.environ) -> str | None:
    """The address, None where none is set. Raises InvalidSettings, without showing it, for one that may not be used."""
    url = environ.get(VARIABLE, "").strip()
    if not url:
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and _is_here(host))):
        raise InvalidSettings(f"{VARIABLE} must be an https address, or http on this machine; correct or unset it")
    return url


def send(alert: Alert, *, url: str, policy: HttpPolicy = POLICY) -> HttpReply:
    """Post it; a failure is in the reply. Raises MissingExtra without httpx."""
    body = {"source": "rag_pipeline", **asdict(alert), "checks": list(alert.checks), "text": alert.text}
    with JsonPoster(policy, reads_reply=False) as poster:
        return poster.post(url, headers={}, body=body)


def safe_message(text: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """A message without quoted words, addresses' paths, or values of secret variables, cut to LONGEST_MESSAGE."""
    for name, value in environ.items():
        if _SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "***")
    text = _QUESTIONS.sub("", text)
    text = _QUOTED.sub("'...'", text)
    text = " ".join(_ADDRESS.sub(r"\1...", text).split())
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 3]}..."


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
