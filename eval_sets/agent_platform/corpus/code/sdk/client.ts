/**
 * @corvane/sdk - HTTP client of the Corvane Agent Platform.
 *
 * Retries: GET and DELETE are retried up to 3 times on 429, 502, 503 and 504. POST is retried
 * only if an `idempotencyKey` is given. The `Retry-After` header is honoured up to 30 seconds;
 * a longer value makes the call fail at once with `CorvaneRateLimitError`.
 */

export type Plan = "starter" | "team" | "business" | "enterprise";

export interface ClientOptions {
  /** Base address; defaults to https://api.corvane.example. */
  baseUrl?: string;
  /** API token; falls back to the CORVANE_TOKEN environment variable. */
  token?: string;
  /** Tenant slug, sent as `X-Corvane-Tenant`. */
  tenant: string;
  /** Time limit of one HTTP attempt in milliseconds. Default 25 000. */
  timeoutMs?: number;
  /** Attempts including the first one. Default 4. */
  maxAttempts?: number;
}

export interface AgentSummary {
  agentId: string;
  name: string;
  state: "provisioning" | "active" | "paused" | "retiring" | "retired";
  blueprint: { name: string; version: string };
  createdAt: string;
}

export class CorvaneError extends Error {
  constructor(
    readonly code: string,
    readonly status: number,
    message: string,
    readonly requestId?: string,
  ) {
    super(`${code} (${status}): ${message}`);
  }
}

export class CorvaneRateLimitError extends CorvaneError {
  constructor(readonly retryAfterS: number, requestId?: string) {
    super("E-9029", 429, `rate limit, retry after ${retryAfterS} s`, requestId);
  }
}

const RETRYABLE = new Set([429, 502, 503, 504]);
const MAX_RETRY_AFTER_S = 30;

export class CorvaneClient {
  private readonly baseUrl: string;
  private readonly token: string;

  constructor(private readonly options: ClientOptions) {
    this.baseUrl = (options.baseUrl ?? "https://api.corvane.example").replace(/\/+$/, "");
    const token = options.token ?? process.env.CORVANE_TOKEN;
    if (!token) throw new Error("no token: pass one or set CORVANE_TOKEN");
    this.token = token;
  }

  /** Create an agent. `dryRun` validates only and returns the id "dry-run". */
  async createAgent(input: {
    blueprint: string;
    name: string;
    version?: string;
    overrides?: Record<string, unknown>;
    dryRun?: boolean;
    idempotencyKey?: string;
  }): Promise<AgentSummary> {
    const { idempotencyKey, ...body } = input;
    return this.request("POST", "/v1/agents", body, idempotencyKey);
  }

  /** Iterate over all agents; pages hold 100 entries and are fetched lazily. */
  async *listAgents(filter: { state?: AgentSummary["state"] } = {}): AsyncGenerator<AgentSummary> {
    let cursor: string | undefined;
    do {
      const query = new URLSearchParams({ limit: "100", ...filter, ...(cursor ? { cursor } : {}) });
      const page = await this.request<{ items: AgentSummary[]; next?: string }>("GET", `/v1/agents?${query}`);
      yield* page.items;
      cursor = page.next;
    } while (cursor);
  }

  async request<T>(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<T> {
    const attempts = this.options.maxAttempts ?? 4;
    const mayRetry = method !== "POST" || idempotencyKey !== undefined;
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(this.baseUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${this.token}`,
          "x-corvane-tenant": this.options.tenant,
          "content-type": "application/json",
          ...(idempotencyKey ? { "idempotency-key": idempotencyKey } : {}),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(this.options.timeoutMs ?? 25_000),
      });
      if (response.ok) return (await response.json()) as T;
      const requestId = response.headers.get("x-request-id") ?? undefined;
      const retryAfter = Number(response.headers.get("retry-after") ?? "0");
      if (response.status === 429 && retryAfter > MAX_RETRY_AFTER_S) {
        throw new CorvaneRateLimitError(retryAfter, requestId);
      }
      if (!mayRetry || !RETRYABLE.has(response.status) || attempt >= attempts) {
        const problem = await response.json().catch(() => ({}));
        throw new CorvaneError(problem.code ?? "E-9000", response.status, problem.detail ?? "", requestId);
      }
      const pause = Math.max(retryAfter * 1000, 400 * 2 ** (attempt - 1));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
