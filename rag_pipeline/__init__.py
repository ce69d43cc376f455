"""An index you can trust: `retrieve` asks the release in service; the rest of the package builds and measures it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_pipeline.retrieval.retrieve import retrieve
    from rag_pipeline.schema import Principal
    from rag_pipeline.service import get_universal_rag

__all__ = ["Principal", "get_universal_rag", "retrieve"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `import rag_pipeline` alone costs nothing."""
    if name == "retrieve":
        from rag_pipeline.retrieval.retrieve import retrieve

        return retrieve
    if name == "Principal":
        from rag_pipeline.schema import Principal

        return Principal
    if name == "get_universal_rag":
        from rag_pipeline.service import get_universal_rag

        return get_universal_rag
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
