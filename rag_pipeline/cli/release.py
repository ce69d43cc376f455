"""`rag-pipeline release`: what was published, is it sound, and going back."""

from pathlib import Path

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option


@click.group("release", short_help="List, show, verify, roll back, pin, collect and reproduce releases.")
def command() -> None:
    """List, show, verify, roll back, pin, collect and reproduce releases.

    \b
    Examples:
      rag-pipeline release list
      rag-pipeline release verify                 the one in service, every checksum
      rag-pipeline release rollback               to the last good one before it
      rag-pipeline release gc --keep 3 --dry-run
    """


@command.command("list")
@collection_option
@home_option
@config_option
@json_option
def list_command(collection: str | None, home: Path | None, config: Path | None, as_json: bool) -> None:
    """Every release, newest first, and which one is in service."""
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.release.listing import list_releases, status

    paths = served_collection(settings_for(config, home), collection)
    rows = list_releases(paths)
    if as_json:
        print_json({"collection": paths.root.name, "status": status(paths), "releases": rows})
        return
    print_table(
        paths.root.name,
        [
            {
                "release": row.release_id,
                "in service": "*" if row.current else "champion" if row.champion else "",
                "files": f"{row.state}, variant" if row.variant else row.state,
                "verdict": "rolled back" if row.withdrawn else row.verdict,
                "build": row.build_key,
                "documents": row.documents,
                "chunks": row.chunks,
                "MB": None if row.bytes is None else round(row.bytes / 1e6, 1),
                "created": row.created[:16].replace("T", " ") if row.created else None,
            }
            for row in rows
        ],
    )


@command.command("show")
@click.argument("release_id", required=False)
@collection_option
@home_option
@config_option
@json_option
def show_command(
    release_id: str | None, collection: str | None, home: Path | None, config: Path | None, as_json: bool
) -> None:
    """One release in full: its build, strategies, verdict and status. Default: the one in service."""
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.release.listing import describe

    paths = served_collection(settings_for(config, home), collection)
    described = describe(paths, release_id)
    if as_json:
        print_json(described)
        return
    for name, value in described.items():
        if isinstance(value, (dict, list)) and value:
            rows = value.items() if isinstance(value, dict) else enumerate(value, 1)
            click.echo("\n".join((name, *(f"  {key}: {entry}" for key, entry in rows))))
        else:
            click.echo(f"{name:<16} {value}")


@command.command("verify")
@click.argument("release_id", required=False)
@click.option("--quick", is_flag=True, help="Sizes and counts only, no checksums.")
@collection_option
@home_option
@config_option
@json_option
def verify_command(
    release_id: str | None, quick: bool, collection: str | None, home: Path | None, config: Path | None, as_json: bool
) -> int:
    """Read a release's build again and compare it with its manifest. Exits 1 if something is wrong."""
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.release.verify import verify_release

    paths = served_collection(settings_for(config, home), collection)
    checks = verify_release(paths, release_id, deep=not quick)
    if as_json:
        print_json({"checks": checks, "passed": all(c.passed for c in checks.values())})
    else:
        print_table("verify", [{"check": name, "passed": c.passed, "detail": c.message} for name, c in checks.items()])
    return 0 if all(c.passed for c in checks.values()) else 1


@command.command("rollback")
@click.argument("release_id", required=False)
@click.option("--reason", default="no reason given", metavar="WHY", help="Recorded in the history.")
@collection_option
@home_option
@config_option
@json_option
def rollback_command(
    release_id: str | None,
    reason: str,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Serve an earlier release again, after verifying it. Default: the last good one before the current."""
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.release.rollback import rollback

    paths = served_collection(settings_for(config, home), collection)
    done = rollback(paths, release_id, reason=reason)
    if as_json:
        print_json(done)
    else:
        click.echo(f"{paths.root.name}: {done.previous} -> {done.current}")


@command.command("publish")
@click.argument("release_id")
@click.option("--force", "reason", metavar="WHY", help="Go past its verdict; the reason is recorded.")
@collection_option
@home_option
@config_option
@json_option
def publish_command(
    release_id: str, reason: str | None, collection: str | None, home: Path | None, config: Path | None, as_json: bool
) -> None:
    """Put a release into service under its own verdict, or past it with --force; never one that does not verify."""
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.release.publish import publish

    paths = served_collection(settings_for(config, home), collection)
    done = publish(paths, release_id, force_reason=reason)
    if as_json:
        print_json(done)
    else:
        click.echo(f"{paths.root.name}: {done.previous} -> {done.current}")


@command.command("champion")
@click.argument("release_id", required=False)
@click.option("--unpin", is_flag=True, help="Measure against no champion any more.")
@click.option("--reason", metavar="WHY", help="Recorded in the history; needed to pin or unpin.")
@collection_option
@home_option
@config_option
@json_option
def champion_command(
    release_id: str | None,
    unpin: bool,
    reason: str | None,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Pin the release that every candidate is also measured against, so that small losses can't add up.

    gc keeps it. Without a release it says which one is pinned.

    \b
    Examples:
      rag-pipeline release champion
      rag-pipeline release champion 1e5359d93d685a99157d --reason "best on the held-out half"
      rag-pipeline release champion --unpin --reason "the corpus was replaced"
    """
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.release.pointer import pin_champion
    from rag_pipeline.release.stored import read_champion

    paths = served_collection(settings_for(config, home), collection)
    if release_id is not None and unpin:
        raise click.UsageError("name a release to pin, or --unpin, not both")
    if release_id is None and not unpin:
        if reason is not None:
            raise click.UsageError("--reason goes with a release to pin, or with --unpin")
        before = read_champion(paths)
    else:
        if reason is None or not reason.strip():
            raise click.UsageError("say why with --reason; it is recorded in the history")
        before = pin_champion(paths, release_id, reason=reason.strip())
    now = read_champion(paths)
    if as_json:
        print_json({"collection": paths.root.name, "champion": now, "previous": before})
    elif release_id is None and not unpin:
        click.echo(f"{paths.root.name}: {now or 'no champion is pinned'}")
    else:
        click.echo(f"{paths.root.name}: champion {before or 'none'} -> {now or 'none'}")


@command.command("gc")
@click.option("--keep", type=click.IntRange(1), help="Good releases to keep. [default: the collection's keep_releases]")
@click.option("--dry-run", is_flag=True, help="Say what would go, remove nothing.")
@collection_option
@home_option
@config_option
@json_option
def gc_command(
    keep: int | None, dry_run: bool, collection: str | None, home: Path | None, config: Path | None, as_json: bool
) -> None:
    """Remove releases, builds and staging that nothing needs, and name each; never what a reader holds."""
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.release.retain import gc
    from rag_pipeline.settings.collection import CollectionSettings

    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    own = settings.collections.get(paths.root.name, CollectionSettings())
    done = gc(paths, keep=keep or own.keep_releases, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    verb = "would remove" if dry_run else "removed"
    click.echo(
        f"{verb} {len(done.releases)} releases, {len(done.builds)} builds, {len(done.staging)} staging folders: "
        f"{done.bytes_freed / 1e6:.1f} MB"
    )
    kinds = {"release": done.releases, "build": done.builds, "staging": done.staging, "leftover": done.leftovers}
    for kind, names in kinds.items():
        for name in names:
            click.echo(f"  {kind:<9}{name}")
    for name in done.held:
        click.echo(f"build {name} stays: a reader holds it")
    for note in done.notes:
        click.echo(note)


@command.command("reproduce")
@click.argument("release_id", required=False)
@collection_option
@home_option
@config_option
@json_option
def reproduce_command(
    release_id: str | None, collection: str | None, home: Path | None, config: Path | None, as_json: bool
) -> int:
    """Recompute a release's keys, checksums, evaluation and verdict from what is stored. Exits 1 where they differ."""
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.paths import Home
    from rag_pipeline.release.reproduce import reproduce

    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    own = settings.collections.get(paths.root.name)
    report = reproduce(paths, release_id, own=own, models=Home(settings.home).models)
    if as_json:
        print_json(report)
    else:
        print_table("reproduce", [vars_of(c) for c in report.comparisons])
        click.echo(report.message)
    return 0 if report.same else 1


def vars_of(comparison: object) -> dict[str, object]:
    import dataclasses

    return {f.name: getattr(comparison, f.name) for f in dataclasses.fields(comparison)}  # type: ignore[arg-type]
