"""A gate's comparisons as rows for people."""

from rag_pipeline.evaluation.comparison import Effect
from rag_pipeline.evaluation.gate import GateVerdict
from rag_pipeline.evaluation.leaderboard import Row


def comparison_rows(verdict: GateVerdict) -> list[Row]:
    """One row for every strategy and reference."""
    return [
        {
            "strategy": c.strategy,
            "reference": c.reference,
            "release": c.release_id,
            "metric": c.comparison.metric,
            **effect_cells(c.comparison.overall),
            "coverage": c.comparison.coverage,
            "p adjusted": c.p_adjusted,
            "smallest detectable loss": c.comparison.overall.detectable,
            "questions for the margin": c.comparison.overall.needed,
        }
        for c in verdict.comparisons
    ]


def tag_change_rows(verdict: GateVerdict) -> list[Row]:
    """One row for every tag; they gate nothing, and `p adjusted` allows for their number."""
    return [
        {
            "strategy": c.strategy,
            "reference": c.reference,
            "tag": tag,
            **effect_cells(effect),
            "p adjusted": c.comparison.p_worse_by_tag[tag],
        }
        for c in verdict.comparisons
        for tag, effect in c.comparison.by_tag.items()
    ]


def effect_cells(effect: Effect) -> Row:
    return {
        "n": effect.n,
        "changed": effect.changed,
        "before": effect.baseline,
        "after": effect.candidate,
        "difference": effect.difference,
        "low": effect.low,
        "high": effect.high,
        "finding": effect.finding,
    }
