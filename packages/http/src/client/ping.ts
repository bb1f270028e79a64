import { describeMethod, foreignUnaryCalls } from "@quicrpc/core/generated";
import { HTTP_SERVICE } from "../protocol/ping.js";
import type { HttpClient } from "./http-client.js";

const METHOD = describeMethod(HTTP_SERVICE, foreignUnaryCalls, "ping", { id: 1 });

/** Returns the milliseconds that the server took to answer. Rejects where it does not, refuses the credentials, or is another program. */
export async function ping(client: HttpClient): Promise<number> {
  const since = performance.now();
  await client.start(METHOD, undefined);
  return performance.now() - since;
}
