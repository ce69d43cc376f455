"""Expansion by templates: a few keywords become questions. Offline, and always the same for the same query.

Questions and long queries stay alone: there is nothing to add.
"""

import regex

from rag_pipeline.llm.client import Llm
from rag_pipeline.retrieval.transforms.base import Transformed, with_original

MOST = 3
MOST_WORDS = 8
_QUESTION = regex.compile(
    r"(?i)^(who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|should|would|will|may"
    r"|has|have|wer|wie|was|wann|wo|warum|welche[rsmn]?|quel(?:le)?s?|qui|que|quoi|comment|pourquoi|où|cómo|qué|quién"
    r"|dónde|cuándo)\b"
)
_TASK = regex.compile(
    r"(?i)^(add|build|change|check|configure|connect|create|debug|delete|deploy|disable|enable|export|find|fix|get"
    r"|import|install|list|make|migrate|monitor|move|read|remove|rename|reset|restart|restore|rotate|run|scale|send"
    r"|set|setup|start|stop|test|update|upgrade|use|verify|write)\b"
)
_COMMAND = regex.compile(r"(?i)^(please\s+)?(explain|describe|show|tell|give|compare|summari[sz]e)\b")
_TROUBLE = regex.compile(r"(?i)\b(error|fail(?:s|ed|ure)?|exception|crash(?:es|ed)?|timeout|denied|[a-z]-\d{2,6})\b")


def template(query: str, *, llm: Llm | None = None, strict: bool = False) -> Transformed:
    """At most three variants besides the query."""
    topic = query.strip().rstrip("?!. ")
    words = topic.split()
    if not 0 < len(words) <= MOST_WORDS or query.strip().endswith("?"):
        return with_original(query, (), kind="template", most=MOST)
    if _QUESTION.match(topic) or _COMMAND.match(topic):
        return with_original(query, (), kind="template", most=MOST)
    if _TASK.match(topic):
        task = topic[0].lower() + topic[1:]
        forms = (f"How do I {task}?", f"How to {task}", f"Steps to {task}")
    elif _TROUBLE.search(topic):
        forms = (f"What causes {topic}?", f"How do I fix {topic}?", f"What does {topic} mean?")
    else:
        forms = (f"What is {topic}?", f"How does {topic} work?", f"How do I use {topic}?")
    return with_original(query, forms, kind="template", most=MOST)
