-- database schema: billing (PostgreSQL 16)
-- Database schema of usage metering, invoices and credits. Money is stored in US cents.
-- Migration 003.

CREATE SCHEMA IF NOT EXISTS billing;

CREATE TABLE billing.subscription (
    tenant         text        PRIMARY KEY,
    plan           text        NOT NULL CHECK (plan IN ('starter', 'team', 'business', 'enterprise')),
    seats          integer     NOT NULL DEFAULT 1 CHECK (seats > 0),
    currency       char(3)     NOT NULL DEFAULT 'USD',
    renews_on      date,
    grace_until    date                -- 21 days after the first failed payment (E-7001)
);

-- One row per tenant, hour and meter. Late usage is accepted for 48 hours.
CREATE TABLE billing.usage_hour (
    tenant         text        NOT NULL,
    hour           timestamptz NOT NULL,
    meter          text        NOT NULL CHECK (meter IN
                   ('model_tokens_in', 'model_tokens_out', 'run_minutes', 'retrieval_queries', 'storage_gib_hours')),
    quantity       numeric(20, 4) NOT NULL,
    sealed         boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, hour, meter)
) PARTITION BY RANGE (hour);

CREATE TABLE billing.invoice (
    invoice_no     text        PRIMARY KEY,
    tenant         text        NOT NULL,
    period         daterange   NOT NULL,
    net_cents      bigint      NOT NULL,
    tax_cents      bigint      NOT NULL DEFAULT 0,
    state          text        NOT NULL DEFAULT 'draft'
                   CHECK (state IN ('draft', 'open', 'paid', 'void', 'uncollectible')),
    EXCLUDE USING gist (tenant WITH =, period WITH &&) WHERE (state <> 'void')
);

CREATE TABLE billing.credit (
    credit_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant         text        NOT NULL,
    cents          bigint      NOT NULL CHECK (cents > 0),
    reason         text        NOT NULL CHECK (reason IN ('sla', 'goodwill', 'prepaid', 'migration')),
    expires_on     date        NOT NULL DEFAULT (current_date + 365)
);

CREATE INDEX usage_unsealed ON billing.usage_hour (hour) WHERE NOT sealed;
CREATE INDEX credit_open ON billing.credit (tenant, expires_on);

-- Credits are used up in the order of their expiry date, SLA credits last.
CREATE FUNCTION billing.credit_order(reason text, expires_on date) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN reason = 'sla' THEN '9' ELSE '1' END || to_char(expires_on, 'YYYYMMDD');
