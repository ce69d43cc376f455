#!/usr/bin/env bash
# Rotates the tenant keys of the CredentialVault, oldest first.
#
# usage: rotate_keys.sh [--tenant SLUG] [--older-than DAYS] [--dry-run]
#
# The default of --older-than is 83 days, so that a weekly run never lets a key grow older
# than the 90 days the security policy permits. Run it from cron on Tuesday at 03:40 UTC.
# Never start it while a restore is in progress: the script checks for
# /run/corvane/restore.lock and stops with exit code 7.
set -euo pipefail

OLDER_THAN=83
TENANT=""
DRY=0
while [ $# -gt 0 ]; do
  case "$1" in
    --tenant) TENANT="$2"; shift 2 ;;
    --older-than) OLDER_THAN="$2"; shift 2 ;;
    --dry-run) DRY=1; shift ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
done

[ -e /run/corvane/restore.lock ] && { echo "restore in progress" >&2; exit 7; }

list_due() {
  if [ -n "${TENANT}" ]; then
    echo "${TENANT}"
  else
    corvane vault keys --older-than "${OLDER_THAN}d" --sort age --format slug
  fi
}

count=0
for slug in $(list_due); do
  # At most 40 tenants a night, to keep the KMS under its quota of 1,500 calls a minute.
  if [ "${count}" -ge 40 ]; then
    echo "limit of 40 reached, the rest waits for the next run"
    break
  fi
  if [ "${DRY}" -eq 1 ]; then
    echo "would rotate ${slug}"
  else
    corvane vault rotate --tenant "${slug}" --batch 250
    corvane vault verify --tenant "${slug}" --sample 20
  fi
  count=$((count + 1))
done
echo "rotated ${count} tenant keys"
