/**
 * Server-sent events of a workflow run.
 *
 * The server sends a comment line (": ping") every 20 seconds. If nothing at all arrives for
 * 50 seconds, the stream counts as dead and is opened again with `Last-Event-ID`. The server
 * keeps the last 1 000 events of a run for such a resumption; older ones are lost and the
 * stream starts with an event of type `gap`.
 */

import type { CorvaneClient } from "./client";

export type RunEvent =
  | { type: "step.started"; node: string; attempt: number }
  | { type: "step.finished"; node: string; status: "ok" | "skipped" | "failed" | "cancelled" }
  | { type: "token"; node: string; text: string }
  | { type: "gap"; missed: number }
  | { type: "run.finished"; status: string };

const SILENCE_LIMIT_MS = 50_000;
const MAX_RECONNECTS = 8;

export interface StreamOptions {
  /** Leave out the token events, which make up most of the traffic. */
  stepsOnly?: boolean;
  signal?: AbortSignal;
}

export async function* streamRun(
  client: CorvaneClient,
  runId: string,
  open: (lastId: string | undefined) => Promise<ReadableStream<Uint8Array>>,
  options: StreamOptions = {},
): AsyncGenerator<RunEvent> {
  let lastId: string | undefined;
  for (let reconnects = 0; reconnects <= MAX_RECONNECTS; reconnects++) {
    const reader = (await open(lastId)).getReader();
    const decoder = new TextDecoder();
    let buffer = "";
    try {
      while (true) {
        const { value, done } = await withSilenceLimit(reader.read());
        if (done) break;
        buffer += decoder.decode(value, { stream: true });
        let cut: number;
        while ((cut = buffer.indexOf("\n\n")) >= 0) {
          const frame = parseFrame(buffer.slice(0, cut));
          buffer = buffer.slice(cut + 2);
          if (!frame) continue;
          lastId = frame.id ?? lastId;
          if (options.stepsOnly && frame.event.type === "token") continue;
          yield frame.event;
          if (frame.event.type === "run.finished") return;
        }
      }
    } catch (error) {
      if (options.signal?.aborted) throw error;
    } finally {
      reader.releaseLock();
    }
  }
  throw new Error(`run ${runId}: stream lost after ${MAX_RECONNECTS} reconnects`);
}

function withSilenceLimit<T>(pending: Promise<T>): Promise<T> {
  return Promise.race([
    pending,
    new Promise<T>((_, reject) => setTimeout(() => reject(new Error("silence")), SILENCE_LIMIT_MS)),
  ]);
}

function parseFrame(raw: string): { id?: string; event: RunEvent } | null {
  let id: string | undefined;
  let data = "";
  for (const line of raw.split("\n")) {
    if (line.startsWith(":")) continue;
    if (line.startsWith("id:")) id = line.slice(3).trim();
    if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  return data ? { id, event: JSON.parse(data) as RunEvent } : null;
}
