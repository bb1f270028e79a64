import { isObject } from "./schema/schema.js";

/** A request that a person made, or keeps. */
export interface KeptRequest {
  /** Its name, where a person gave it one. */
  readonly name?: string;
  readonly service: string;
  readonly method: string;
  readonly input: string;
  /** Only of requests that were kept: it may hold secrets. */
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
/** Characters of an input; a longer one is not remembered. */
const MAX_INPUT = 20_000;

/** The requests of a list, the newest first. */
export function requestsOf(list: keyof typeof KEYS): readonly KeptRequest[] {
  try {
    return requestsIn(JSON.parse(localStorage.getItem(KEYS[list]) ?? "[]"));
  } catch {
    return [];
  }
}

/** Remembers a request. What storage has no room for is not remembered. */
export function remember(list: keyof typeof KEYS, request: KeptRequest): void {
  if (request.input.length > MAX_INPUT) return;
  const others = requestsOf(list).filter((each) => list === "history" || each.name !== request.name);
  write(list, [request, ...others].slice(0, list === "history" ? MAX_HISTORY : MAX_KEPT));
}

/** Forgets a kept request. */
export function forget(request: KeptRequest): void {
  write(
    "kept",
    requestsOf("kept").filter((each) => each.at !== request.at || each.name !== request.name),
  );
}

/** The kept requests as the text of a file. */
export function keptAsFile(): string {
  return `${JSON.stringify({ quicrpcStudio: 1, requests: requestsOf("kept") }, undefined, 2)}\n`;
}

/** Adds the requests of such a file. Throws `TypeError` for another. */
export function addFile(text: string): number {
  const given: unknown = JSON.parse(text);
  if (!isObject(given) || given["quicrpcStudio"] !== 1) throw new TypeError("this is no file of the studio's requests");
  const requests = requestsIn(given["requests"]);
  for (const request of [...requests].reverse()) remember("kept", request);
  return requests.length;
}

function requestsIn(given: unknown): readonly KeptRequest[] {
  if (!Array.isArray(given)) return [];
  return given.filter((each): each is KeptRequest => {
    const { service, method, input, at, metadata = [], timeoutMs = 1, via, compress } = isObject(each) ? each : {};
    const isMetadata =
      Array.isArray(metadata) &&
      metadata.every((field) => Array.isArray(field) && field.every((part) => typeof part === "string"));
    return (
      isMetadata &&
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

function write(list: keyof typeof KEYS, requests: readonly KeptRequest[]): void {
  try {
    localStorage.setItem(KEYS[list], JSON.stringify(requests));
  } catch {
    // Storage is full, or forbidden.
  }
}
