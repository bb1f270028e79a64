import type { Uploads } from "./options.js";

/** Programs that run this, as far as they say so. */
interface Runtimes {
  readonly process?: { readonly versions?: Readonly<Record<string, string | undefined>> };
  readonly Deno?: unknown;
}

/** Returns what the platform's `fetch` can stream of a request. */
export function platformUploads(): Uploads {
  const { process, Deno } = globalThis as Runtimes;
  if (process?.versions?.["bun"] !== undefined) return "half";
  if (process?.versions?.["node"] !== undefined || Deno !== undefined) return "full";
  return streamsRequests() ? "half" : "none";
}

/** Whether a browser sends a stream as such: others make it a text, and say which type that has. */
function streamsRequests(): boolean {
  let asked = false;
  const init = {
    method: "POST",
    body: new ReadableStream(),
    get duplex() {
      asked = true;
      return "half";
    },
  };
  try {
    return !new Request("https://localhost", init).headers.has("content-type") && asked;
  } catch {
    return false;
  }
}
