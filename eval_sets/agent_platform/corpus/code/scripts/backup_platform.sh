#!/usr/bin/env bash
# Nightly backup of a self-hosted installation.
#
# What it covers: the four PostgreSQL schemas (agents, workflows, billing, audit), the
# blueprint catalogue on disk and the vault's wrapped keys. Retrieval indexes are NOT
# included; they are rebuilt with `corvane retrieval reindex --all`.
#
# Retention: 14 daily, 8 weekly (Sunday) and 12 monthly archives.
# Exit codes: 0 fine, 3 dump failed, 4 upload failed, 5 free space under 20 GiB.
set -euo pipefail

TARGET="${CORVANE_BACKUP_TARGET:-/var/backups/corvane}"
PGHOST="${PGHOST:-127.0.0.1}"
STAMP="$(date -u +%Y%m%dT%H%M%SZ)"
MIN_FREE_GIB=20
WORK="$(mktemp -d "${TARGET}/.work.XXXXXX")"
trap 'rm -rf "${WORK}"' EXIT

free_gib() { df --output=avail -BG "${TARGET}" | tail -n 1 | tr -dc '0-9'; }

if [ "$(free_gib)" -lt "${MIN_FREE_GIB}" ]; then
  echo "less than ${MIN_FREE_GIB} GiB free in ${TARGET}" >&2
  exit 5
fi

# audit is dumped first: its rows are append-only, so a later dump of the other schemas can
# only refer to audit rows that are already in the archive.
for schema in audit agents workflows billing; do
  pg_dump --host="${PGHOST}" --format=directory --jobs=4 --schema="${schema}" \
    --file="${WORK}/${schema}" corvane || exit 3
done

cp -a /etc/corvane/blueprints "${WORK}/blueprints"
corvane vault export-wrapped --out "${WORK}/vault-keys.bin"

tar --create --zstd --file "${TARGET}/corvane-${STAMP}.tar.zst" --directory "${WORK}" .
sha256sum "${TARGET}/corvane-${STAMP}.tar.zst" > "${TARGET}/corvane-${STAMP}.sha256"

if [ -n "${CORVANE_BACKUP_BUCKET:-}" ]; then
  corvane ops upload --bucket "${CORVANE_BACKUP_BUCKET}" --object-lock-days 35 \
    "${TARGET}/corvane-${STAMP}.tar.zst" || exit 4
fi

corvane ops prune-backups --dir "${TARGET}" --daily 14 --weekly 8 --monthly 12
echo "backup ${STAMP} finished"
