import type { ShownMethod } from "./catalog.js";
import type { CallSettings, Field } from "./settings.js";

/** A call, in the words of something else that can make it. */
export interface Copyable extends Omit<CallSettings, "metadata"> {
  readonly method: ShownMethod;
  readonly url: string;
  /** The input as JSON. */
  readonly input: string;
  readonly metadata: readonly Field[];
  /** The files that were chosen for fields that are blobs. */
  readonly files?: Readonly<Record<string, Pick<File, "name">>>;
}

/** The call as a line for a shell, by the quicrpc command. */
export function asCommand({ method, url, input, files, metadata, timeoutMs, via, compress }: Copyable): string {
  const name = `${method.service}/${method.name}`;
  const parts = ["quicrpc", "call", quoted(url), quoted(name)];
  if (method.takes === "value" && !method.streamsInput) parts.push(quoted(compact(withFiles(input, files))));
  if ((method.blobs.output ?? []).length > 0) parts.push("--out", ".");
  for (const [key, value] of metadata) parts.push("-m", quoted(`${key}: ${value}`));
  if (timeoutMs !== undefined) parts.push("--timeout", String(timeoutMs));
  if (via !== undefined) parts.push("--via", via);
  if (compress === true) parts.push("--compress");
  const line = parts.join(" ");
  return method.streamsInput && method.takes === "value" ? `echo ${quoted(compact(input))} | ${line}` : line;
}

/** The call by curl, over HTTP; undefined where HTTP needs a client of its own. */
export function asCurl({ method, url, input, metadata, timeoutMs }: Copyable): string | undefined {
  if (method.kind !== "unary" && method.kind !== "notify") return undefined;
  // Blobs need a session.
  if (method.takes === "bytes" || method.blobs.input !== undefined || method.blobs.output !== undefined)
    return undefined;
  const base = /^https?:/.test(url)
    ? url.replace(/\/$/, "")
    : `https://${/^\w+:\/\/([^/]+)/.exec(url)?.[1] ?? "localhost"}`;
  const deadline = timeoutMs === undefined ? [] : [["connect-timeout-ms", String(timeoutMs)]];
  const fields = [["content-type", "application/json"], ...deadline, ...metadata].map(
    ([key, value]) => `-H ${quoted(`${key}: ${value}`)}`,
  );
  const body = method.takes === "nothing" ? "{}" : compact(input);
  return ["curl", quoted(`${base}/${method.service}/${method.name}`), ...fields, "-d", quoted(body)].join(" ");
}

/** The call in TypeScript, by its generated client. */
export function asTypeScript({ method, url, input, files = {}, metadata, timeoutMs, via, compress }: Copyable): string {
  const service = method.service.split(".").at(-1) ?? method.service;
  const client = service.charAt(0).toLowerCase() + service.slice(1);
  const given = [
    ...(metadata.length === 0 ? [] : [`metadata: ${JSON.stringify(Object.fromEntries(metadata))}`]),
    ...(timeoutMs === undefined ? [] : [`timeoutMs: ${timeoutMs}`]),
    ...(via === undefined ? [] : [`via: ${JSON.stringify(via)}`]),
    ...(compress === true ? ["compress: true"] : []),
  ];
  const options = given.length === 0 ? "" : `{ ${given.join(", ")} }`;
  const chosen = Object.entries(files).map(
    ([field, { name }]) => `${JSON.stringify(field)}: await fileBlob(${JSON.stringify(name)})`,
  );
  const typed = chosen.length === 0 ? input.trim() : `{ ...${input.trim()}, ${chosen.join(", ")} }`;
  const message = method.takes === "value" ? typed : method.takes === "bytes" ? "bytes" : "";
  const args = (...parts: string[]): string => parts.filter((each) => each !== "").join(", ");
  const lines = [
    `const connection = await connect(${JSON.stringify(url)});`,
    `const ${client} = create${service}Client(connection);`,
  ];
  const call = (first: string): string => `${client}.${method.name}(${args(first, options)})`;
  switch (method.kind) {
    case "unary":
      lines.push(`const answer = await ${call(message)};`);
      break;
    case "notify":
      lines.push(`await ${call(message)};`);
      break;
    case "client_stream":
      lines.push(`const answer = await ${call(`[${message}]`)};`);
      break;
    case "server_stream":
      lines.push(`for await (const item of ${call(message)}) console.log(item);`);
      break;
    case "duplex":
      lines.push(
        `const { readable, writable } = ${call("")};`,
        "const writer = writable.getWriter();",
        `await writer.write(${message});`,
        "await writer.close();",
        "for await (const item of readable) console.log(item);",
      );
  }
  return lines.join("\n");
}

/** An input with the names of its files, as `quicrpc call` reads them. */
function withFiles(json: string, files: Copyable["files"] = {}): string {
  const named = Object.entries(files).map(([field, { name }]) => [field, `@${name}`]);
  if (named.length === 0) return json;
  try {
    return JSON.stringify({ ...(JSON.parse(json) as object), ...Object.fromEntries(named) });
  } catch {
    return json;
  }
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function compact(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}
