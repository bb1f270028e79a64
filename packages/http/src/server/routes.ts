import { RpcError } from "@quicrpc/core";
import type { AnyMethod, Router } from "@quicrpc/core/generated";
import { fullName, streamsInput, streamsOutput } from "@quicrpc/core/internal";
import { type ContentType, contentType } from "../protocol/content-type.js";
import { readContentType } from "../protocol/read-content-type.js";
import { errorToJson, jsonBytes } from "../protocol/error-json.js";
import { type HttpExchange, isGet, splitTarget } from "./exchange.js";
import { EVENT_STREAM, EVENTS_FIELDS, LAST_EVENT_ID } from "./event-call.js";
import type { CallProtocol } from "./protocol.js";
import { FORMAT_NAMES, formatNamed, JSON_FORMAT, type MessageFormat } from "./message-formats.js";
import { explainMethod, explainUnserved } from "./pages.js";

/** Parsed content types that nearly all clients send. */
const USUAL: ReadonlyMap<string, ContentType> = new Map(
  ["json", "msgpack"].flatMap((codec) =>
    [false, true].map((stream) => [contentType({ codec, stream }), { codec, stream }] as const),
  ),
);

export type Bound<Context> = Router<Context>["methods"][number];

/**
 * How the messages of a request and its response are separated: one message each, in envelopes, or as server-sent
 * events.
 */
export type Framing = "unary" | "stream" | "events";

export class Match<Context> {
  readonly bound: Bound<Context>;
  readonly format: MessageFormat;
  readonly framing: Framing;
  /** Query of a GET request, which contains the message; undefined if the message is in the body. */
  readonly query: URLSearchParams | undefined;
  /** The protocol of the call; undefined for the Connect protocol. */
  readonly protocol: CallProtocol | undefined;

  constructor(
    bound: Bound<Context>,
    format: MessageFormat,
    framing: Framing,
    query?: URLSearchParams,
    protocol?: CallProtocol,
  ) {
    this.bound = bound;
    this.format = format;
    this.framing = framing;
    this.query = query;
    this.protocol = protocol;
  }
}

/** The methods of a server, by their paths. */
export class Routes<Context> {
  private readonly byPath: Map<string, Bound<Context>> = new Map();
  private readonly prefix: string;
  private readonly isOpen: boolean;

  /**
   * @param prefix first part of all paths, such as "/api"; "" for none
   * @param isOpen true if every client may call and list methods, so that error pages may name them
   */
  constructor(methods: readonly Bound<Context>[], prefix: string, isOpen: boolean) {
    this.prefix = prefix;
    this.isOpen = isOpen;
    for (const bound of methods) this.byPath.set(`${prefix}/${fullName(bound.method)}`, bound);
  }

  /**
   * Returns the method at exactly this path; undefined for other spellings of it, which rules of a proxy in front of
   * the server may not cover.
   */
  find(path: string): Bound<Context> | undefined {
    return this.byPath.get(path);
  }

  /** Returns the method with this full name; undefined if there is none. */
  named(name: string): Bound<Context> | undefined {
    return this.find(`${this.prefix}/${name}`);
  }

  /** Finds the method of a request. Returns undefined if an explanation or an error was sent instead. */
  match(exchange: HttpExchange): Match<Context> | undefined {
    const { path, query } = splitTarget(exchange.target);
    const bound = this.find(path);
    if (bound === undefined) {
      this.answerUnknown(exchange, path);
      return undefined;
    }
    const { method } = bound;
    if (exchange.method === "POST") return this.matchPost(exchange, bound);
    if (isGet(exchange) && isGettable(method)) {
      const matched = matchGet(exchange, bound, new URLSearchParams(query));
      if (matched === "explain") answerText(exchange, 200, explainMethod(exchange, method));
      return typeof matched === "string" ? undefined : matched;
    }
    const allow = isGettable(method) ? "GET, HEAD, POST" : "POST";
    answerText(exchange, 405, explainMethod(exchange, method), { allow });
    return undefined;
  }

  private matchPost(exchange: HttpExchange, bound: Bound<Context>): Match<Context> | undefined {
    const { method } = bound;
    const header = exchange.header("content-type");
    const type = USUAL.get(header ?? "") ?? readContentType(header);
    const format = type && formatNamed(type.codec);
    if (type === undefined || format === undefined || type.stream !== isStream(method)) {
      const expected = typesOf(method).join(", ");
      const shown = JSON.stringify(header ?? "").slice(0, 200);
      const text = `${fullName(method)} takes ${expected}, not ${shown}\n\n${explainMethod(exchange, method)}`;
      answerText(exchange, 415, text, { "accept-post": expected });
      return undefined;
    }
    return new Match(bound, format, type.stream ? "stream" : "unary");
  }

  private answerUnknown(exchange: HttpExchange, path: string): void {
    const methods = Array.from(this.byPath.values(), ({ method }) => method);
    const text = explainUnserved(path, this.prefix, methods, this.isOpen);
    if (readContentType(exchange.header("content-type")) === undefined) answerText(exchange, 404, `${text}\n`);
    else
      exchange.respond(
        { status: 404, fields: { "content-type": "application/json", ...NOT_KEPT } },
        jsonBytes(errorToJson(new RpcError("unimplemented", text))),
      );
  }
}

/**
 * Header fields of responses that do not come from a method. They forbid caching, because the next request to the same
 * URL may have another response.
 */
const NOT_KEPT = { "cache-control": "no-store" } as const;

/**
 * Returns the match of a GET request; "answered" if a response was sent instead; "explain" if the request is not a
 * call, so that the server should explain the method.
 */
function matchGet<Context>(
  exchange: HttpExchange,
  bound: Bound<Context>,
  query: URLSearchParams,
): Match<Context> | "answered" | "explain" {
  const { method } = bound;
  if (isStream(method)) {
    if (exchange.header("accept")?.includes(EVENT_STREAM) !== true) return "explain";
    if (exchange.header("last-event-id") === LAST_EVENT_ID) {
      exchange.respond({ status: 204, fields: NOT_KEPT });
      return "answered";
    }
    // A response to HEAD has no body, so no stream is opened.
    if (exchange.method === "HEAD") {
      exchange.respond({ status: 200, fields: EVENTS_FIELDS });
      return "answered";
    }
    return new Match(bound, JSON_FORMAT, "events", query);
  }
  if (!query.has("message") && !query.has("encoding") && method.input !== undefined) return "explain";
  const format = formatNamed(query.get("encoding") ?? "json");
  if (format !== undefined) return new Match(bound, format, "unary", query);
  return answerText(exchange, 415, `the query's encoding is one of ${FORMAT_NAMES.join(", ")}\n`);
}

/** Returns true if calls of the method have no side effects, so that it may be called by GET. */
function isGettable(method: AnyMethod): boolean {
  return method.readOnly && !streamsInput(method) && method.kind !== "notify";
}

/** Returns true if the messages of the method's calls are in envelopes. */
export function isStream(method: AnyMethod): boolean {
  return streamsInput(method) || streamsOutput(method);
}

function typesOf(method: AnyMethod): string[] {
  return FORMAT_NAMES.map((codec) => contentType({ codec, stream: isStream(method) }));
}

/** Sends a text as the response, and forbids caches to store it. */
export function answerText(
  exchange: HttpExchange,
  status: number,
  text: string,
  fields: Readonly<Record<string, string>> = {},
): "answered" {
  exchange.respond({ status, fields: { "content-type": "text/plain; charset=utf-8", ...NOT_KEPT, ...fields } }, text);
  return "answered";
}
