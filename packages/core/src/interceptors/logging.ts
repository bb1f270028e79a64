import { streamsOutput } from "../call/messages/payload.js";
import { fullName } from "../contract/descriptor.js";
import { type Code, RpcError } from "../errors.js";
import { type InterceptedCall, type Interceptor, withoutPermissionCheck } from "./interceptor.js";
import { sanitizeForLog } from "../server/log-error.js";
import { observeResponse } from "./observed.js";

/** A logger: pino, `console`, or an object with the same methods. */
interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface CallLog {
  readonly side: "caller" | "callee";
  /** Name of the method as "service/method". */
  readonly method: string;
  readonly code: Code | "ok";
  /** Name of the declared error with which the call failed, if it was one. */
  readonly reason?: string | undefined;
  readonly durationMs: number;
  /** Number of messages that the callee streamed. */
  readonly items?: number | undefined;
  /**
   * The error with which the call failed. On the callee's side it contains more than the caller receives. pino logs it
   * with its stack.
   */
  readonly err?: unknown;
}

/** Error codes that indicate a fault of the server rather than of the caller. */
const FAULTS: ReadonlySet<string> = new Set<Code>(["unknown", "internal", "data_loss", "unimplemented"]);

/**
 * Returns an interceptor that logs every call when it has ended: with level `info` if it succeeded, `error` if its code
 * indicates a fault of the server, otherwise `warn`. Does not log messages and metadata.
 */
export function logging(logger: Logger): Interceptor {
  return withoutPermissionCheck(async (call, next) => {
    const start = performance.now();
    const streamed = streamsOutput(call.method);
    let items = 0;
    const log = (error: unknown): void => {
      const fields = { ...outcome(call, error), durationMs: performance.now() - start, ...(streamed && { items }) };
      write(logger, fields);
    };
    try {
      const response = await next(call);
      return observeResponse(response, { onItem: () => items++, onOver: log });
    } catch (error) {
      log(error);
      throw error;
    }
  });
}

/** Formats a log entry as one line, because a console would print the fields on several lines. */
function consoleLine(text: string, { durationMs, items, reason, err }: CallLog): string {
  const more = [
    ...(reason === undefined ? [] : [sanitizeForLog(reason)]),
    `${durationMs.toFixed(1)} ms`,
    ...(items === undefined ? [] : [`${items} item${items === 1 ? "" : "s"}`]),
    ...(err instanceof Error && err.message !== reason ? [sanitizeForLog(err.message)] : []),
  ];
  return `${text} (${more.join(", ")})`;
}

function outcome({ side, method }: InterceptedCall, error: unknown): Omit<CallLog, "durationMs"> {
  const name = fullName(method);
  if (error === undefined) return { side, method: name, code: "ok" };
  const { code, reason } = RpcError.from(error, side === "callee" ? "internal" : "unknown");
  return { side, method: name, code, ...(reason !== undefined && { reason }), err: error };
}

function write(logger: Logger, fields: CallLog): void {
  const { side, method, code } = fields;
  const text = `${side === "caller" ? "called" : "served"} ${method}: ${code}`;
  const { console } = globalThis as unknown as { readonly console?: Record<keyof Logger, (line: string) => void> };
  if (console !== undefined && (logger as unknown) === console) {
    console[code === "ok" ? "info" : FAULTS.has(code) ? "error" : "warn"](consoleLine(text, fields));
    return;
  }
  if (code === "ok") logger.info(fields, text);
  else if (FAULTS.has(code)) logger.error(fields, text);
  else logger.warn(fields, text);
}
