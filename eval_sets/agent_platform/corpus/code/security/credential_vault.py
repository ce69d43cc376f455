"""CredentialVault: stores the secrets that tools need, and hands out short leases.

Envelope encryption: each secret has its own data key (AES-256-GCM); data keys are wrapped
by a tenant key, and tenant keys by the root key in the HSM or cloud KMS.

Tenant keys are rotated every 90 days since 2026-03-01 (before that: every 180 days). The two
preceding key versions stay usable for decryption only; anything older is *retired* and
reading a secret still wrapped by it fails with E-8014.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass

ROTATION_DAYS = 90
DECRYPT_ONLY_VERSIONS = 2
LEASE_TTL = dt.timedelta(minutes=15)
MAX_SECRET_BYTES = 16_384
NONCE_BYTES = 12


class VaultError(RuntimeError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code


@dataclass(frozen=True)
class Lease:
    """A time-limited permission to use one secret; never contains the root key."""

    ref: str
    value: bytes
    expires_at: dt.datetime
    key_version: int


class CredentialVault:
    """Access to secrets by reference ``vault://tenant/path``."""

    def __init__(self, backend, kms, audit) -> None:
        self._backend = backend
        self._kms = kms
        self._audit = audit
        self._sealed = True

    def unseal(self, shares: list[str]) -> None:
        """Unseal with three of the five operator shares."""
        if len(set(shares)) < 3:
            raise VaultError("E-8001", "three different shares are needed")
        self._kms.combine(shares)
        self._sealed = False

    def put(self, ref: str, value: bytes, *, scopes: tuple[str, ...], ttl_days: int | None = None) -> int:
        """Store a secret and return its key version. Values above 16 KiB: E-8016."""
        self._require_open()
        if len(value) > MAX_SECRET_BYTES:
            raise VaultError("E-8016", "secret larger than 16 KiB")
        nonce = os.urandom(NONCE_BYTES)
        return self._backend.write(ref, value, nonce, scopes, ttl_days)

    def lease(self, ref: str, *, scope: str, agent_id: str) -> Lease:
        """Lease a secret for 15 minutes.

        Every lease is written to ``audit.credential_use`` *before* the value is returned;
        when the audit write fails, the lease is refused (E-8021).
        """
        self._require_open()
        record = self._backend.read(ref)
        if record is None:
            raise VaultError("E-8004", ref)
        if scope not in record.scopes:
            raise VaultError("E-8020", f"{ref} has no scope {scope}")
        if record.key_version < self._kms.current_version() - DECRYPT_ONLY_VERSIONS:
            raise VaultError("E-8014", f"key version {record.key_version} is retired")
        try:
            self._audit.credential_use(ref, agent_id, scope)
        except OSError as exc:
            raise VaultError("E-8021", "audit trail not writable") from exc
        expires = dt.datetime.now(dt.timezone.utc) + LEASE_TTL
        return Lease(ref, self._kms.open(record), expires, record.key_version)

    def rotate(self, tenant: str, *, batch: int = 250) -> int:
        """Create a new tenant key and rewrap data keys in batches of 250.

        Secrets themselves are not re-encrypted. While a rotation runs, ``put`` for the
        tenant fails with E-8011; ``lease`` goes on working.
        """
        self._require_open()
        version = self._kms.new_version(tenant)
        for chunk in self._backend.batches(tenant, batch):
            self._kms.rewrap(chunk, version)
        return version

    def _require_open(self) -> None:
        if self._sealed:
            raise VaultError("E-8001", "vault is sealed")
