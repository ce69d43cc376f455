-- database schema: agents (PostgreSQL 16)
-- Database schema of the agent catalogue: blueprints, agents, tool bindings, episodic memory.
-- Migration 001, first shipped with 3.0, last changed for 3.4.

CREATE SCHEMA IF NOT EXISTS agents;

-- Published blueprints are immutable; only "yanked" may change afterwards.
CREATE TABLE agents.blueprint (
    blueprint_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant         text        NOT NULL,
    name           text        NOT NULL CHECK (name ~ '^[a-z][a-z0-9-]{2,47}$'),
    version        text        NOT NULL CHECK (version ~ '^\d+\.\d+$'),
    extends        bigint      REFERENCES agents.blueprint (blueprint_id),
    body           jsonb       NOT NULL,
    yanked         boolean     NOT NULL DEFAULT false,
    published_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, name, version)
);

CREATE TABLE agents.agent (
    agent_id       text        PRIMARY KEY CHECK (agent_id LIKE 'agt\_%'),
    tenant         text        NOT NULL,
    name           text        NOT NULL,
    blueprint_id   bigint      NOT NULL REFERENCES agents.blueprint (blueprint_id),
    state          text        NOT NULL DEFAULT 'provisioning'
                   CHECK (state IN ('provisioning', 'active', 'paused', 'retiring', 'retired')),
    labels         jsonb       NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL DEFAULT now(),
    retired_at     timestamptz
);

-- A name may be used again after the agent was retired, hence a partial index (E-4015).
CREATE UNIQUE INDEX agent_name_live ON agents.agent (tenant, name) WHERE state <> 'retired';
CREATE INDEX agent_labels_gin ON agents.agent USING gin (labels jsonb_path_ops);

CREATE TABLE agents.tool_binding (
    agent_id       text     NOT NULL REFERENCES agents.agent (agent_id) ON DELETE CASCADE,
    tool           text     NOT NULL,
    major          smallint NOT NULL,
    credential_ref text,
    narrowed_by    text,               -- policy rule that removed the tool, if any
    PRIMARY KEY (agent_id, tool)
);

-- Episodic memory, partitioned by week; partitions older than 35 days are dropped.
CREATE TABLE agents.episode (
    namespace      text        NOT NULL,
    key            text        NOT NULL,
    body           text        NOT NULL CHECK (octet_length(body) <= 65536),
    pinned         boolean     NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz,
    PRIMARY KEY (namespace, key, created_at)
) PARTITION BY RANGE (created_at);

CREATE INDEX episode_expiry ON agents.episode (expires_at) WHERE NOT pinned;

ALTER TABLE agents.agent ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON agents.agent USING (tenant = current_setting('corvane.tenant'));
