import { fullName } from "../contract/descriptor.js";
import { type Code, RpcError } from "../errors.js";
import { type InterceptedCall, type Interceptor, withoutPermissionCheck } from "./interceptor.js";
import { sanitizeForLog } from "../server/log-error.js";
import { observed } from "./observed.js";

/** A sink of log lines: pino, `console`, and what is shaped like them. */
interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Fields of the log line of a call. */
interface CallLog {
  readonly side: "caller" | "callee";
  /** "service/method" */
  readonly method: string;
  readonly code: Code | "ok";
  /** Name of the declared error that the call failed with. */
  readonly reason?: string | undefined;
  readonly durationMs: number;
  /** Messages that the callee streamed. */
  readonly items?: number | undefined;
  /** Error of the call; on the callee's side it says more than the caller receives. pino writes it with its stack. */
  readonly err?: unknown;
}

/** Codes that mean that something is wrong with the callee, rather than with the call. */
const FAULTS: ReadonlySet<string> = new Set<Code>(["unknown", "internal", "data_loss", "unimplemented"]);

/**
 * Logs every call when it is over: `info` for a good one, `error` where the callee is at fault, `warn` for other errors. No
 * message and no metadata is logged.
 */
export function logging(logger: Logger): Interceptor {
  return withoutPermissionCheck(async (call, next) => {
    const start = performance.now();
    const streamed = call.method.kind === "server_stream" || call.method.kind === "duplex";
    let items = 0;
    const log = (error: unknown): void => {
      const fields = { ...outcome(call, error), durationMs: performance.now() - start, ...(streamed && { items }) };
      write(logger, fields);
    };
    try {
      const answer = await next(call);
      return observed(answer, { onItem: () => items++, onOver: log });
    } catch (error) {
      log(error);
      throw error;
    }
  });
}

/** The entry of a console, which would show fields as several lines, before the text. */
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
