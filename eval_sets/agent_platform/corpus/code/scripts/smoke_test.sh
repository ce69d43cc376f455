#!/usr/bin/env bash
# Smoke test after an installation or upgrade. Takes about 70 seconds.
#
# Steps: health of the four services, token check, dry-run of an agent, one small workflow,
# one retrieval against the collection "smoke". Any failure ends the script with the number
# of the failed step as exit code.
set -uo pipefail

HOST="${1:-localhost}"
TENANT="${CORVANE_SMOKE_TENANT:-smoke}"
step=0

check() {
  step=$((step + 1))
  printf '%2d  %-46s' "${step}" "$1"
  shift
  if "$@" >/tmp/corvane-smoke.log 2>&1; then
    echo ok
  else
    echo FAILED
    sed 's/^/    /' /tmp/corvane-smoke.log
    exit "${step}"
  fi
}

check "control plane answers"        curl -fsS "http://${HOST}:8440/healthz"
check "worker pool answers"          curl -fsS "http://${HOST}:8441/healthz"
check "retrieval service answers"    curl -fsS "http://${HOST}:8460/healthz"
check "gateway answers"              curl -fsS "https://${HOST}/healthz"
check "token is accepted"            corvane auth whoami --tenant "${TENANT}"
check "agent dry run"                corvane agents create smoke-echo --name smoke --dry-run
check "workflow hello finishes"      corvane workflows run hello --wait 30
check "retrieval finds marker"       corvane retrieval query "teal lighthouse" --collection smoke --expect smoke-007
check "audit row was written"        corvane audit tail --tenant "${TENANT}" --since 2m --min 3
echo "all ${step} checks passed"
