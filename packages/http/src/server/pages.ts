import type { AnyMethod } from "@quicrpc/core/generated";
import { fullName, listed, streamsInput, streamsOutput } from "@quicrpc/core/internal";
import { type HttpExchange, splitTarget } from "./exchange.js";

/** Name of the service of `@quicrpc/services` that describes all other services. */
const REFLECTION = "quicrpc.v1.Reflection";

/** Returns a text that explains how to call a method, for a user who opens its URL in a browser. */
export function explainMethod(exchange: HttpExchange, method: AnyMethod): string {
  const { path } = splitTarget(exchange.target);
  const url = `${exchange.isSecure ? "https" : "http"}://${exchange.authority ?? "localhost"}${path}`;
  const stream = streamsInput(method) || streamsOutput(method);
  const lines = [`${fullName(method)} is a method of kind ${method.kind}.`, ""];
  if (!stream) {
    lines.push("Call it by POST:", "", `  curl ${url} -H 'content-type: application/json' -d '{}'`);
    if (method.readOnly) {
      lines.push("", "or, since it changes nothing, by GET:", "", `  ${url}?encoding=json&message=%7B%7D`);
    }
  } else if (streamsInput(method) || !method.readOnly) {
    lines.push("Its messages are in envelopes, which a client of the Connect protocol reads and writes.");
  } else {
    lines.push("Listen to it as server-sent events:", "");
    lines.push(`  curl -N '${url}?encoding=json&message=%7B%7D' -H 'accept: text/event-stream'`);
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Returns a text which explains that a path belongs to no method, and which part of it is wrong. It names other
 * services and methods only if everyone may list them, because the client is not authenticated yet.
 */
export function explainUnserved(path: string, prefix: string, methods: readonly AnyMethod[], isOpen: boolean): string {
  const names = [...new Set(methods.map(({ service }) => service.name))];
  const tell = (all: readonly string[]): string => listed(isOpen && names.includes(REFLECTION) ? all : []);
  const [service, method, ...more] = path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1).split("/") : [];
  if (service === undefined || method === undefined || more.length > 0) {
    return `nothing is served at ${sanitizeForLog(path)}: calls go to ${prefix}/package.Service/method${tell(names)}`;
  }
  if (!names.includes(service)) return `no service ${sanitizeForLog(service)} is served here${tell(names)}`;
  const served = methods.filter((other) => other.service.name === service).map(({ name }) => name);
  return `service ${service} has no method ${sanitizeForLog(method)} here${tell(served)}`;
}

/** Shortens a text that a client has sent, and escapes its control characters. */
function sanitizeForLog(text: string): string {
  return text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?");
}
