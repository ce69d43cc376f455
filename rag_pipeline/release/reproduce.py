"""Doing again what a release records about itself, and comparing: its hashes, its files and its verdict. Reads only."""

from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, ReleaseRefused
from rag_pipeline.index.build_key import INDEX_VERSION, build_key
from rag_pipeline.index.manifest import Manifest, read_manifest
from rag_pipeline.index.verify import verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.reproduce_quality import reproduce_quality
from rag_pipeline.release.reproduced import Comparison
from rag_pipeline.release.stored import load_release
from rag_pipeline.release.structural import structural_checks
from rag_pipeline.release.verdict import QUALITY, Verdict, read_verdict, structural_verdict
from rag_pipeline.release.verify import VerifyBuild, in_service
from rag_pipeline.retrieval.release_file import content_id
from rag_pipeline.schema import Release
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline.settings.collection import CollectionSettings


@dataclass(frozen=True, slots=True)
class Reproduction:
    release_id: str
    comparisons: tuple[Comparison, ...]
    same: bool
    """Nothing that could be done again came out differently."""
    has_quality: bool
    """Whether the verdict rests on an evaluation."""
    message: str


def reproduce(
    paths: CollectionPaths,
    release_id: str | None = None,
    *,
    own: CollectionSettings | None = None,
    models: Path | None = None,
    verify: VerifyBuild = verify_build,
) -> Reproduction:
    """Recompute a release's id, its build's key and checksums, its verdict and the evaluation that it rests on.

    `release_id` None: the one in service. `own` says whether an empty index is allowed; the defaults where None.
    `models`: the folder of exported models; without it the evaluation is not run. Raises UnknownName, NoRelease.
    """
    chosen = release_id or in_service(paths)
    comparisons: list[Comparison] = []
    quality = False
    try:
        release = load_release(paths, chosen)
    except CorruptBuild as error:
        comparisons.append(Comparison("release_id", chosen, "", False, str(error)))
    else:
        comparisons.append(_compare("release_id", chosen, content_id(release)))
        comparisons += _build(paths, release, verify)
        verdict, compared = _verdict(paths, chosen, own or CollectionSettings(), verify)
        comparisons += compared
        if verdict is not None and verdict.eval_set_hash is not None:
            quality = True
            comparisons += reproduce_quality(paths, verdict, models=models) if models else []
    message = _message(chosen, comparisons, quality, run=models is not None)
    same = all(c.same is not False for c in comparisons)
    return Reproduction(chosen, tuple(comparisons), same, quality, message)


def _build(paths: CollectionPaths, release: Release, verify: VerifyBuild) -> list[Comparison]:
    folder = paths.build(release.build_key)
    try:
        manifest = read_manifest(folder)
    except (CorruptBuild, IncompatibleBuild) as error:
        return [Comparison("build", release.build_key, "", False, str(error))]
    problems = verify(folder, deep=True)
    wrong = sorted({problem.file for problem in problems})
    return [
        _key(manifest),
        Comparison(
            "files",
            f"{len(manifest.files)} checksums",
            "all agree" if not problems else f"{', '.join(wrong)} differ",
            not problems,
            f"{problems[0].file}: {problems[0].message}" if problems else "",
        ),
    ]


def _key(manifest: Manifest) -> Comparison:
    made_by = manifest.versions.get("index")
    if made_by != INDEX_VERSION:
        note = f"it was built by index version {made_by}, this is {INDEX_VERSION}"
        return Comparison("build_key", manifest.build_key, "", None, note)
    again = build_key(
        snapshot_key=manifest.snapshot_key,
        chunking_key=manifest.chunking_key,
        vectors_key=manifest.vectors_key,
        fingerprint=str(manifest.embedder["fingerprint"]),
        settings=IndexSettings.model_validate(manifest.settings),
        default_access=manifest.default_access,
    )
    return _compare("build_key", manifest.build_key, again)


def _verdict(
    paths: CollectionPaths, release_id: str, own: CollectionSettings, verify: VerifyBuild
) -> tuple[Verdict | None, list[Comparison]]:
    try:
        verdict = read_verdict(paths.release(release_id))
    except ReleaseRefused as error:
        return None, [Comparison("verdict", "unreadable", "", False, str(error))]
    if verdict is None:
        return None, [Comparison("verdict", "none", "", None, "it was never evaluated")]
    checks = structural_checks(paths, release_id, own, verify=verify)
    compared = [
        _compare(f"check {name}", _word(passed), _word(checks[name].passed), checks[name].message)
        if name in checks
        else Comparison(f"check {name}", _word(passed), "", None, "not one of the checks that can be run again here")
        for name, passed in verdict.checks.items()
        if not name.startswith(QUALITY)  # the gate's decision speaks for them
    ]
    if all(name in checks for name in verdict.checks) and verdict.eval_set_hash is None:
        again = structural_verdict(
            release_id, baseline=verdict.baseline, checks={name: checks[name] for name in verdict.checks}
        )
        compared.append(_compare("decision", verdict.decision, again.decision, again.reason))
    else:
        note = "it rests on more than the structural checks"
        compared.append(Comparison("decision", verdict.decision, "", None, note))
    return verdict, compared


def _compare(name: str, recorded: str, recomputed: str, note: str = "") -> Comparison:
    return Comparison(name, recorded, recomputed, recorded == recomputed, note if recorded != recomputed else "")


def _word(passed: bool) -> str:
    return "passed" if passed else "failed"


def _message(release_id: str, comparisons: list[Comparison], quality: bool, *, run: bool) -> str:
    done = [c for c in comparisons if c.same is not None]
    differ = [c.name for c in done if not c.same]
    verb = f"does not reproduce ({', '.join(differ)} differ)" if differ else "reproduces"
    rest = "it has no quality evaluation to reproduce, only structural checks"
    if quality:
        rest = "its evaluation was run again" if run else "its quality was evaluated too, which is not run here"
    return f"release {release_id} {verb}: {len(done) - len(differ)} of {len(done)} comparisons agree; {rest}"
