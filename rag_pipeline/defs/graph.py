"""The whole of it: each configured collection's definitions, merged, with the data directory as their resource."""

import dagster as dg

from rag_pipeline.defs.alerts import alert_definitions
from rag_pipeline.defs.answers import answer_definitions
from rag_pipeline.defs.automation import automation_definitions
from rag_pipeline.defs.benchmarks import benchmark_definitions
from rag_pipeline.defs.collection import CollectionDefs
from rag_pipeline.defs.corpus import corpus_definitions
from rag_pipeline.defs.evaluation import evaluation_definitions
from rag_pipeline.defs.index import index_definitions
from rag_pipeline.defs.regression import regression_definitions
from rag_pipeline.defs.release import release_definitions
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.defs.tracking import tracking_definitions
from rag_pipeline.settings.load import Settings


def all_definitions(settings: Settings) -> dg.Definitions:
    return dg.Definitions.merge(
        *(collection_definitions(CollectionDefs(name, settings)) for name in sorted(settings.collections)),
        alert_definitions(settings.collections),
        dg.Definitions(resources={"data": DataDirectory(path=str(settings.home))}),
    )


def collection_definitions(c: CollectionDefs) -> dg.Definitions:
    parts = [
        *corpus_definitions(c),
        *index_definitions(c),
        *release_definitions(c),
        *evaluation_definitions(c),
        *answer_definitions(c),
        *tracking_definitions(c),
        *regression_definitions(c),
        *benchmark_definitions(c),
    ]
    return dg.Definitions.merge(
        dg.Definitions(
            assets=[p for p in parts if not isinstance(p, dg.AssetChecksDefinition)],
            asset_checks=[p for p in parts if isinstance(p, dg.AssetChecksDefinition)],
        ),
        automation_definitions(c),
    )
