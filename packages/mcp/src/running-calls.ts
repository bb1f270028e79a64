import { isObject } from "@quicrpc/services/json-schema";

/**
 * Header that contains the session id for clients of MCP protocol version 2025. The client repeats the value from the
 * response to `initialize`.
 */
export const SESSION_FIELD = "mcp-session-id";

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

const SESSION = /^[0-9a-f-]{36}$/;

/**
 * Tool calls that clients of MCP protocol version 2025 can cancel. They cancel a call by a separate request. It is
 * matched with the call by the session id, which cannot be guessed, and the call's id. No other session state is
 * stored.
 */
export class RunningCalls {
  private readonly calls: Map<string, AbortController> = new Map();

  /**
   * Registers a call. Call `end` on the result when the call has ended. Returns undefined if the message is not a tool
   * call or the client has no session.
   */
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
