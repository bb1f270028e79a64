import type { AnyMethod } from "@quicrpc/core/generated";
import { fullName, streamsInput, streamsOutput } from "@quicrpc/core/transport";
import { type HttpExchange, splitTarget } from "./exchange.js";

/** The service of `@quicrpc/services` that describes all others. */
const REFLECTION = "quicrpc.v1.Reflection";

/** Names in a text. */
const MAX_LISTED = 20;

/** Explains to whoever opens a method's URL how it is called. */
export function explainMethod(exchange: HttpExchange, method: AnyMethod): string {
  const { path } = splitTarget(exchange.target);
  const url = `http://${exchange.authority ?? "localhost"}${path}`;
  const stream = streamsInput(method) || streamsOutput(method);
  const lines = [`${fullName(method)} is a method of kind ${method.kind}.`, ""];
  if (!stream) {
    lines.push("Call it by POST:", "", `  curl ${url} -H 'content-type: application/json' -d '{}'`);
    if (method.idempotent) {
      lines.push("", "or, since it changes nothing, by GET:", "", `  ${url}?encoding=json&message=%7B%7D`);
    }
  } else if (streamsInput(method) || !method.idempotent) {
    lines.push("Its messages are in envelopes, which a client of the Connect protocol reads and writes.");
  } else {
    lines.push("Listen to it as server-sent events:", "");
    lines.push(`  curl -N '${url}?encoding=json&message=%7B%7D' -H 'accept: text/event-stream'`);
  }
  return `${lines.join("\n")}\n`;
}

/** Explains a path that names no method. The services are named only where reflection tells them to everybody. */
export function explainServer(path: string, prefix: string, methods: readonly AnyMethod[]): string {
  const lines = [`Nothing is served at ${printable(path)}: calls go to ${prefix}/package.Service/method.`];
  const names = [...new Set(methods.map(({ service }) => service.name))];
  if (names.includes(REFLECTION))
    lines.push("", "There are:", ...names.slice(0, MAX_LISTED).map((name) => `  ${name}`));
  return `${lines.join("\n")}\n`;
}

/** Text of a client's, bounded, and without what a terminal acts on. */
function printable(text: string): string {
  return text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?");
}
