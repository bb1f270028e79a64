import { atMost } from "../call/expiries.js";
import type { Explanation, Fault } from "../call/fault.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { asError } from "../errors.js";

/** Milliseconds that an error waits for the code that completes it. */
const LOAD_MS = 3000;

/** Completes an error with code that is loaded on demand. If that fails, the error's hint says so. */
export async function explainByLoaded(fault: Fault, method: AnyMethod): Promise<Explanation> {
  let explanation: Explanation | undefined;
  let reason = `no answer within ${LOAD_MS} ms`;
  const loaded = import("./loaded-later.js").then(
    ({ explainFault }) => (explanation = explainFault(fault, method)),
    (error: unknown) => (reason = asError(error).message),
  );
  await atMost(LOAD_MS, loaded);
  return explanation ?? { hint: `what explains it cannot be loaded: ${reason}` };
}
