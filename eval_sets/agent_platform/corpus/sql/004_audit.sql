-- database schema: audit (PostgreSQL 16)
-- Database schema of the append-only audit trail. Rows are chained by hash.
-- Migration 004. UPDATE and DELETE are revoked from every role, including the owner role.

CREATE SCHEMA IF NOT EXISTS audit;

CREATE TABLE audit.entry (
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant       text        NOT NULL,
    actor        text        NOT NULL,
    action       text        NOT NULL,
    target       text,
    detail       jsonb       NOT NULL DEFAULT '{}',
    prev_hash    bytea       NOT NULL,
    hash         bytea       NOT NULL,
    PRIMARY KEY (seq, at)
) PARTITION BY RANGE (at);           -- monthly partitions, kept 400 days online

CREATE TABLE audit.credential_use (
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    ref          text        NOT NULL,
    agent_id     text        NOT NULL,
    scope        text        NOT NULL,
    lease_until  timestamptz NOT NULL
);

CREATE TABLE audit.erasure (
    erasure_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    finished_at  timestamptz,
    subject_hash bytea       NOT NULL,   -- SHA-256 with a per-tenant salt, never the name
    items        integer     NOT NULL DEFAULT 0
);

CREATE INDEX entry_by_tenant ON audit.entry (tenant, at DESC);
CREATE INDEX entry_time_brin ON audit.entry USING brin (at);
CREATE INDEX credential_use_ref ON audit.credential_use (ref, at DESC);

REVOKE UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA audit FROM PUBLIC;

-- Every night at 01:10 UTC the head of the chain is signed and written to object storage.
CREATE TABLE audit.anchor (
    day          date  PRIMARY KEY,
    last_seq     bigint NOT NULL,
    head_hash    bytea  NOT NULL,
    signature    bytea  NOT NULL
);
