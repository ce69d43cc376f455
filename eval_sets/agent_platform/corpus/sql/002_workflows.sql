-- database schema: workflows (PostgreSQL 16)
-- Database schema of workflow versions, runs, step results, leases and schedules.
-- Migration 002.

CREATE SCHEMA IF NOT EXISTS workflows;

CREATE TABLE workflows.definition (
    workflow_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant       text        NOT NULL,
    name         text        NOT NULL,
    version      integer     NOT NULL,
    graph        jsonb       NOT NULL,
    checksum     bytea       NOT NULL,
    created_by   text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, name, version)
);

CREATE TABLE workflows.run (
    run_id       text        PRIMARY KEY CHECK (run_id LIKE 'run\_%'),
    workflow_id  bigint      NOT NULL REFERENCES workflows.definition (workflow_id),
    tenant       text        NOT NULL,
    state        text        NOT NULL DEFAULT 'queued'
                 CHECK (state IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')),
    generation   smallint    NOT NULL DEFAULT 1,
    priority     smallint    NOT NULL DEFAULT 100,
    inputs       jsonb       NOT NULL,
    error_code   text,
    queued_at    timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz
);

-- The queue is this table: workers use SELECT ... FOR UPDATE SKIP LOCKED.
CREATE INDEX run_queue ON workflows.run (priority, queued_at) WHERE state = 'queued';
CREATE INDEX run_by_tenant ON workflows.run (tenant, queued_at DESC);

CREATE TABLE workflows.step_result (
    run_id       text     NOT NULL REFERENCES workflows.run (run_id) ON DELETE CASCADE,
    generation   smallint NOT NULL,
    node         text     NOT NULL,
    status       text     NOT NULL CHECK (status IN ('ok', 'skipped', 'failed', 'cancelled')),
    attempts     smallint NOT NULL DEFAULT 1,
    duration_ms  integer  NOT NULL DEFAULT 0,
    output       jsonb,
    output_uri   text,                 -- set when the output was above 512 KiB and spilled
    PRIMARY KEY (run_id, generation, node),
    CHECK (output IS NULL OR output_uri IS NULL)
);

CREATE UNLOGGED TABLE workflows.lease (
    run_id       text        PRIMARY KEY,
    worker       text        NOT NULL,
    epoch        bigint      NOT NULL,  -- fencing token, raised at every take-over
    expires_at   timestamptz NOT NULL
);

CREATE TABLE workflows.schedule (
    schedule_id  text    PRIMARY KEY,
    workflow_id  bigint  NOT NULL REFERENCES workflows.definition (workflow_id),
    cron         text    NOT NULL,
    timezone     text    NOT NULL DEFAULT 'UTC',
    overlap      text    NOT NULL DEFAULT 'skip' CHECK (overlap IN ('skip', 'queue', 'replace')),
    paused_until timestamptz
);

COMMENT ON TABLE workflows.lease IS 'UNLOGGED on purpose: after a database crash every lease is void anyway.';
