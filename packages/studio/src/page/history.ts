import { isObject } from "@quicrpc/services/json-schema";

/** A request that the user has made or saved. */
export interface KeptRequest {
  /** Name that the user has given to a saved request. */
  readonly name?: string;
  readonly service: string;
  readonly method: string;
  readonly input: string;
  /** Metadata of the request. Only stored in saved requests, because it may contain secrets. */
  readonly metadata?: readonly (readonly [string, string])[];
  readonly timeoutMs?: number;
  readonly via?: "lane" | "stream";
  readonly compress?: true;
  readonly at: number;
  readonly outcome?: string;
  readonly ms?: number;
}

const KEYS = { history: "quicrpc-studio:history", kept: "quicrpc-studio:kept" } as const;
const MAX_HISTORY = 50;
const MAX_KEPT = 500;
/** Maximum number of characters of an input that is stored. */
const MAX_INPUT = 20_000;

/** Returns the stored requests of a list, the newest first. */
export function requestsOf(list: keyof typeof KEYS): readonly KeptRequest[] {
  try {
    return requestsIn(JSON.parse(localStorage.getItem(KEYS[list]) ?? "[]"));
  } catch {
    return [];
  }
}

/** Stores a request in a list. Returns false if the request is too long, or if the browser's storage is full. */
export function remember(list: keyof typeof KEYS, request: KeptRequest): boolean {
  if (request.input.length > MAX_INPUT) return false;
  const otherRequests = requestsOf(list).filter((entry) => list === "history" || entry.name !== request.name);
  return write(list, [request, ...otherRequests].slice(0, list === "history" ? MAX_HISTORY : MAX_KEPT));
}

export function removeKept(request: KeptRequest): void {
  write(
    "kept",
    requestsOf("kept").filter((entry) => entry.at !== request.at || entry.name !== request.name),
  );
}

export function forgetHistory(): void {
  write("history", []);
}

/**
 * Returns the saved requests as the text of a file. They are sorted by name, so that versions of the file can be
 * compared.
 */
export function keptAsFile(): string {
  const requests = [...requestsOf("kept")].sort((a, b) => ((a.name ?? "") < (b.name ?? "") ? -1 : 1));
  return `${JSON.stringify({ quicrpcStudio: 1, requests }, undefined, 2)}\n`;
}

/**
 * Adds the saved requests in the text of a file, and returns their number. Throws a `TypeError` with the reason if the
 * file is invalid, and adds nothing in that case.
 */
export function addFile(text: string): number {
  const requests = requestsOfFile(text);
  for (const request of [...requests].reverse()) remember("kept", request);
  return requests.length;
}

function requestsOfFile(text: string): readonly KeptRequest[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new TypeError(`The file is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  if (!isObject(parsed) || parsed["quicrpcStudio"] !== 1 || !Array.isArray(parsed["requests"]))
    throw new TypeError('The file is not of the studio\'s requests: those have "quicrpcStudio": 1 and "requests".');
  const all = parsed["requests"] as readonly unknown[];
  if (all.length > MAX_KEPT) throw new TypeError(`The file has ${all.length} requests: ${MAX_KEPT} at most are kept.`);
  const requests = requestsIn(all);
  const wrong = all.findIndex((entry) => !requests.includes(entry as KeptRequest));
  if (wrong !== -1)
    throw new TypeError(`Request ${wrong + 1} of the file is not valid: it needs service, method and input, as text.`);
  const long = requests.find(({ input }) => input.length > MAX_INPUT);
  if (long !== undefined)
    throw new TypeError(
      `The input of ${long.name ?? long.method} is longer than ${MAX_INPUT} characters, which are kept at most.`,
    );
  return requests;
}

function requestsIn(list: unknown): readonly KeptRequest[] {
  if (!Array.isArray(list)) return [];
  return list.filter((entry): entry is KeptRequest => {
    const {
      name = "",
      service,
      method,
      input,
      at,
      metadata = [],
      timeoutMs = 1,
      via,
      compress,
    } = isObject(entry) ? entry : {};
    const isMetadata =
      Array.isArray(metadata) &&
      metadata.every(
        (field) => Array.isArray(field) && field.length === 2 && field.every((part) => typeof part === "string"),
      );
    return (
      isMetadata &&
      typeof name === "string" &&
      typeof timeoutMs === "number" &&
      (via === undefined || via === "lane" || via === "stream") &&
      (compress === undefined || compress === true) &&
      typeof service === "string" &&
      typeof method === "string" &&
      typeof input === "string" &&
      typeof at === "number"
    );
  });
}

function write(list: keyof typeof KEYS, requests: readonly KeptRequest[]): boolean {
  try {
    localStorage.setItem(KEYS[list], JSON.stringify(requests));
    return true;
  } catch {
    // Storage is full or disabled.
    return false;
  }
}
