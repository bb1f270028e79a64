import { isObject } from "./tool-schema.js";

/** The field that names the session of a client of 2025: its requests carry what the answer to `initialize` had. */
export const SESSION_FIELD = "mcp-session-id";

/** A message of JSON-RPC that nobody has checked. */
interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

const SESSION = /^[0-9a-f-]{36}$/;

/**
 * Calls of tools that clients of 2025 may cancel: they do it by a request of its own, which only the session's name, too long to guess,
 * and the id of the call connect with it. Nothing else is kept of a session.
 */
export class RunningCalls {
  private readonly calls: Map<string, AbortController> = new Map();

  /** Begins a call; `end` must follow. Returns undefined for a message that is none, or of a client without a session. */
  begin(session: string | null, message: Message): { readonly signal: AbortSignal; end(): void } | undefined {
    const { id, method } = message;
    const key = method === "tools/call" ? keyOf(session, id) : undefined;
    if (key === undefined) return undefined;
    const controller = new AbortController();
    this.calls.set(key, controller);
    return {
      signal: controller.signal,
      end: () => {
        if (this.calls.get(key) === controller) this.calls.delete(key);
      },
    };
  }

  /** Cancels the call that a message says is not wanted any more. Other messages do nothing. */
  cancel(session: string | null, message: Message): void {
    const { method, params } = message;
    if (method !== "notifications/cancelled") return;
    const key = keyOf(session, isObject(params) ? params["requestId"] : undefined);
    if (key !== undefined) this.calls.get(key)?.abort();
  }
}

function keyOf(session: string | null, id: unknown): string | undefined {
  const isId = typeof id === "number" || (typeof id === "string" && id.length <= 100);
  return session !== null && SESSION.test(session) && isId ? `${session} ${typeof id} ${id}` : undefined;
}
