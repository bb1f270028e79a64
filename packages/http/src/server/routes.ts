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

/** Parsed content types of nearly all clients. */
const USUAL: ReadonlyMap<string, ContentType> = new Map(
  ["json", "msgpack"].flatMap((codec) =>
    [false, true].map((stream) => [contentType({ codec, stream }), { codec, stream }] as const),
  ),
);

/** A method with its handler. */
export type Bound<Context> = Router<Context>["methods"][number];

/** Framing of a request's messages and of its response. */
export type Framing = "unary" | "stream" | "events";

/** A request that names a method in a supported way. */
export class Match<Context> {
  readonly bound: Bound<Context>;
  readonly format: MessageFormat;
  readonly framing: Framing;
  /** The query of a GET request; undefined if the message is in the body. */
  readonly query: URLSearchParams | undefined;
  /** Undefined for the Connect protocol. */
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

/** The methods of a server, by path. */
export class Routes<Context> {
  private readonly byPath: Map<string, Bound<Context>> = new Map();
  private readonly prefix: string;
  private readonly isOpen: boolean;

  /**
   * @param prefix prefix of the names of services: "" or "/api"
   * @param isOpen whether every client may call, and may list methods as by reflection
   */
  constructor(methods: readonly Bound<Context>[], prefix: string, isOpen: boolean) {
    this.prefix = prefix;
    this.isOpen = isOpen;
    for (const bound of methods) this.byPath.set(`${prefix}/${fullName(bound.method)}`, bound);
  }

  /**
   * Returns the method of a path; undefined for another spelling of the path, which a proxy in front may have let
   * through.
   */
  find(path: string): Bound<Context> | undefined {
    return this.byPath.get(path);
  }

  /** Returns the method of a full name. */
  named(name: string): Bound<Context> | undefined {
    return this.find(`${this.prefix}/${name}`);
  }

  /** Finds a request's method; returns undefined if the request was answered otherwise. */
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
 * Header fields of responses that no method produced. They forbid caching, because the next request to the same URL may
 * have another response.
 */
const NOT_KEPT = { "cache-control": "no-store" } as const;

/** Returns the request's match, or that it was answered, or must be answered with an explanation of the method. */
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
    // The body of a response to HEAD is not read, so no stream is opened.
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

/** Returns whether calls of the method have no side effects, so that caches and pages may make them. */
function isGettable(method: AnyMethod): boolean {
  return method.readOnly && !streamsInput(method) && method.kind !== "notify";
}

/** Returns whether the messages of calls of the method are in envelopes. */
export function isStream(method: AnyMethod): boolean {
  return streamsInput(method) || streamsOutput(method);
}

function typesOf(method: AnyMethod): string[] {
  return FORMAT_NAMES.map((codec) => contentType({ codec, stream: isStream(method) }));
}

/** Answers with a text, which caches must not store. */
export function answerText(
  exchange: HttpExchange,
  status: number,
  text: string,
  fields: Readonly<Record<string, string>> = {},
): "answered" {
  exchange.respond({ status, fields: { "content-type": "text/plain; charset=utf-8", ...NOT_KEPT, ...fields } }, text);
  return "answered";
}
