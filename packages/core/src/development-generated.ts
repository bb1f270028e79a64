// `generated.ts` with a check of option names: the entry of development builds and of Node, like `development.ts`.
import type { CallOptions } from "./call/options.js";
import { withOptionCheck, checkOptions, type OptionNames } from "./check-options.js";
import { failedCall } from "./client/calling.js";
import { RpcError } from "./errors.js";
import * as plain from "./generated.js";

// A declaration below replaces the export of the same name.
export * from "./generated.js";

export const zodCodec: typeof plain.zodCodec = withOptionCheck("zodCodec()", plain.zodCodec, 1, { maxNodes: true });
const CALL: OptionNames<CallOptions> = {
  attempt: true,
  compress: true,
  deadline: true,
  fallback: true,
  from: true,
  metadata: true,
  onceKey: true,
  onResponseMetadata: true,
  onTrailers: true,
  parent: true,
  priority: true,
  resume: true,
  resumeForMs: true,
  signal: true,
  timeoutMs: true,
  via: true,
  waitForReady: true,
};

/** Every call with options passes through here. Only a call with an unknown option pays for the search for similar names. */
function refuseOptions(method: plain.AnyMethod, input: unknown, options: object | undefined): unknown {
  for (const name in options) {
    if (Object.hasOwn(CALL, name)) continue;
    try {
      checkOptions("a call", options as CallOptions, CALL);
    } catch (error) {
      return failedCall(method, input, RpcError.from(error, "invalid_argument"));
    }
  }
  return undefined;
}

function withCheckedCalls<Make extends (...args: never[]) => object>(make: Make): Make {
  const withCheck = (...args: Parameters<Make>): unknown => ({ ...make(...args), refuseOptions });
  return withCheck as unknown as Make;
}

export const describeMethod: typeof plain.describeMethod = withCheckedCalls(plain.describeMethod);
export const defineMethod: typeof plain.defineMethod = withOptionCheck(
  "defineMethod()",
  withCheckedCalls(plain.defineMethod),
  3,
  {
    blobs: true,
    cursor: true,
    delivery: true,
    errors: true,
    extension: true,
    fingerprint: true,
    id: true,
    idempotent: true,
    input: true,
    meta: true,
    output: true,
    priority: true,
    readOnly: true,
    via: true,
  },
);
