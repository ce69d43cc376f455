-- database schema: reporting views over agents, workflows, billing and audit (PostgreSQL 16)
-- Views of the database schema for dashboards. Read-only role: corvane_report.

CREATE VIEW agents.v_agent_overview AS
SELECT a.tenant, a.agent_id, a.name, b.name AS blueprint, b.version, a.state,
       count(t.tool) FILTER (WHERE t.narrowed_by IS NULL) AS usable_tools,
       count(t.tool) FILTER (WHERE t.narrowed_by IS NOT NULL) AS removed_tools
FROM agents.agent a
JOIN agents.blueprint b USING (blueprint_id)
LEFT JOIN agents.tool_binding t USING (agent_id)
GROUP BY a.tenant, a.agent_id, a.name, b.name, b.version, a.state;

-- Runs of the last 7 days with their waiting and working time.
CREATE VIEW workflows.v_run_health AS
SELECT r.tenant, d.name AS workflow,
       count(*) AS runs,
       count(*) FILTER (WHERE r.state = 'failed') AS failed,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM r.finished_at - r.queued_at)) AS p95_seconds,
       mode() WITHIN GROUP (ORDER BY r.error_code) FILTER (WHERE r.error_code IS NOT NULL) AS commonest_error
FROM workflows.run r
JOIN workflows.definition d USING (workflow_id)
WHERE r.queued_at > now() - interval '7 days'
GROUP BY r.tenant, d.name;

-- Refreshed every 15 minutes by pg_cron job "corvane_month_spend".
CREATE MATERIALIZED VIEW billing.mv_month_spend AS
SELECT tenant, date_trunc('month', hour) AS month, meter, sum(quantity) AS quantity
FROM billing.usage_hour
WHERE sealed
GROUP BY tenant, date_trunc('month', hour), meter;

CREATE UNIQUE INDEX mv_month_spend_key ON billing.mv_month_spend (tenant, month, meter);

CREATE VIEW audit.v_credential_hotlist AS
SELECT ref, count(*) AS leases, count(DISTINCT agent_id) AS agents
FROM audit.credential_use
WHERE at > now() - interval '24 hours'
GROUP BY ref
HAVING count(*) > 500;

GRANT SELECT ON agents.v_agent_overview, workflows.v_run_health, billing.mv_month_spend TO corvane_report;
