import { fromBase64 } from "@quicrpc/services/json-schema";
import { valueOf } from "@quicrpc/services";
import type { Trust } from "../assets.js";
import type { ShownMethod } from "./catalog.js";
import type { CallSettings, MetadataField } from "./settings.js";
import { typeScriptOf } from "./typescript-value.js";

/** A call that can be copied as a command or a program. */
export interface Copyable extends Omit<CallSettings, "metadata"> {
  readonly method: ShownMethod;
  readonly url: string;
  /** HTTP URL below which the server's methods are available. Undefined if unknown. */
  readonly httpUrl?: string | undefined;
  readonly trust?: Trust;
  /** Input of the call as JSON, or as text for a method that accepts bytes. */
  readonly input: string;
  readonly metadata: readonly MetadataField[];
  /** Files that the user has selected, by blob field. */
  readonly files?: Readonly<Record<string, Pick<File, "name">>>;
  /** Name of the file that the user has selected instead of an input, for a method that accepts bytes. */
  readonly bytesFile?: string | undefined;
}

/** Returns a shell command that makes the call with `quicrpc`. */
export function asCommand(request: Copyable): string {
  const { method, url, httpUrl, input, files, metadata, timeoutMs, via, compress, trust = {}, bytesFile } = request;
  const { takes, streamsInput } = method;
  const options: string[] = [];
  if ((method.blobs.output ?? []).length > 0) options.push("--out", ".");
  for (const [key, value] of metadata) options.push("-m", quoted(`${key}: ${value}`));
  if (timeoutMs !== undefined) options.push("--timeout", String(timeoutMs));
  if (via !== undefined) options.push("--via", via);
  if (compress === true) options.push("--compress");
  // Otherwise the command would use WebTransport for https://.
  if (httpUrl !== undefined && url.startsWith("https:")) options.push("--plain-http");
  if (trust.dev === true) options.push("--dev");
  if (trust.hash !== undefined) options.push("--hash", trust.hash);
  if (trust.ca !== undefined) options.push("--ca", quoted(trust.ca));
  if (trust.credentialsFrom !== undefined) options.push("--credentials-from", trust.credentialsFrom);
  const call = ["quicrpc", "call", ...options, quoted(url), quoted(`${method.service}/${method.name}`)];
  if (takes === "bytes") {
    const line = (streamsInput ? call : [...call, "-"]).join(" ");
    return bytesFile === undefined ? `printf %s ${quoted(input)} | ${line}` : `${line} < ${quoted(bytesFile)}`;
  }
  if (takes === "nothing") return call.join(" ");
  if (streamsInput) return `printf '%s\\n' ${quoted(compact(input))} | ${call.join(" ")}`;
  const typed = compact(withFiles(input, files));
  // A negative number is not an option.
  if (typed.startsWith("-")) call.splice(2 + options.length, 0, "--");
  return [...call, quoted(typed)].join(" ");
}

/** Returns a curl command that makes the call over HTTP. Throws `TypeError` if curl cannot make such a call. */
export function asCurl({ method, url, httpUrl, trust = {}, input, metadata, timeoutMs }: Copyable): string {
  const { kind, takes, blobs } = method;
  if (kind !== "unary" && kind !== "notify")
    throw new TypeError("curl cannot make streaming calls: use the quicrpc command or a client");
  if (takes === "bytes")
    throw new TypeError("curl cannot send a message of raw bytes: use the quicrpc command or a client");
  if (blobs.input !== undefined || blobs.output !== undefined)
    throw new TypeError("curl cannot send or receive blobs: use the quicrpc command or a client");
  const { dev, hash, ca, credentialsFrom } = trust;
  const deadline = timeoutMs === undefined ? [] : [["connect-timeout-ms", String(timeoutMs)] as const];
  const fields = [["content-type", "application/json"] as const, ...deadline, ...metadata].map(
    ([key, value]) => `-H ${quoted(`${key}: ${value}`)}`,
  );
  if (credentialsFrom !== undefined) fields.push(`-H "authorization: Bearer $${credentialsFrom}"`);
  const base = (httpUrl ?? httpOf(url)).replace(/\/$/, "");
  const trusting =
    ca !== undefined ? ["--cacert", quoted(ca)] : dev === true || hash !== undefined ? ["--insecure"] : [];
  const body = takes === "nothing" ? "{}" : compact(input);
  const line = ["curl", ...trusting, quoted(`${base}/${method.service}/${method.name}`), ...fields, "-d", quoted(body)];
  // Otherwise the server does not answer HTTP at this address.
  const needs = httpUrl === undefined ? "# Of a server that has HTTP too: serve({ …, http: true })\n" : "";
  return `${needs}${line.join(" ")}`;
}

function httpOf(url: string): string {
  const [, scheme, host] = /^(\w+):\/\/([^/]+)/.exec(url) ?? [];
  return `${scheme === "ws" || scheme === "http" || scheme === "tcp" ? "http" : "https"}://${host ?? "localhost"}`;
}

/**
 * Returns a TypeScript program that makes the call with the generated client. Throws `SyntaxError` if the input is not
 * JSON.
 */
export function asTypeScript(request: Copyable): string {
  const { method, url, compress } = request;
  const { service, name, kind } = method;
  const make = `create${service.split(".").at(-1) ?? service}Client`;
  const { text: message, names } = messageOf(request);
  const connecting = connectOptionsOf(request);
  const joined = (...parts: string[]): string => parts.filter((part) => part !== "").join(", ");
  const call = (first: string): string => `client.${name}(${joined(first, callOptionsOf(request))})`;
  const file = service.split(".").at(-1)?.toLowerCase() ?? "";
  const lines = [
    ...connecting.imports,
    `import { ${joined("connect", ...connecting.names, ...names, compress === true ? "nodeCompressions" : "")} } from "@quicrpc/node";`,
    `import { ${make} } from "./generated/${file}.js"; // where quicrpc gen has put it`,
    "",
    `const connection = await connect(${joined(JSON.stringify(url), connecting.text)});`,
    `const client = ${make}(connection);`,
  ];
  switch (kind) {
    case "unary":
      lines.push(`console.log(await ${call(message)});`);
      break;
    case "notify":
      lines.push(`await ${call(message)};`);
      break;
    case "client_stream":
      lines.push(`console.log(await ${call(`[${message}]`)});`);
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
  return [...lines, "await connection.close();", ""].join("\n");
}

interface Expression {
  readonly text: string;
  /** Names to import from `@quicrpc/node`. */
  readonly names: readonly string[];
}

function messageOf({ method, input, files = {}, bytesFile }: Copyable): Expression {
  if (method.takes === "nothing") return { text: "", names: [] };
  if (method.takes === "bytes") {
    const text = bytesFile === undefined ? `new TextEncoder().encode(${JSON.stringify(input)})` : "bytes";
    return { text, names: [] };
  }
  const json: unknown = JSON.parse(input);
  const text = typeScriptOf(method.input === undefined ? json : valueOf(json, method.input));
  const chosen = Object.entries(files).map(
    ([field, { name }]) => `${JSON.stringify(field)}: await fileBlob(${JSON.stringify(name)})`,
  );
  if (chosen.length === 0) return { text, names: [] };
  return { text: `{ ...${text}, ${chosen.join(", ")} }`, names: ["fileBlob"] };
}

function connectOptionsOf({
  trust = {},
  compress,
  httpUrl,
}: Copyable): Expression & { readonly imports: readonly string[] } {
  const { dev, hash, ca, credentialsFrom } = trust;
  const advanced: string[] = [];
  const callOptions: string[] = [];
  // A program cannot configure which certificates `fetch` trusts.
  if (httpUrl !== undefined) advanced.push("transports: [httpTransport()]");
  else if (dev === true) callOptions.push("serverCertificateHashes: [(await devCertificate()).hash]");
  else if (hash !== undefined)
    callOptions.push(`serverCertificateHashes: [{ algorithm: "sha-256", value: Buffer.from("${hash}", "hex") }]`);
  if (ca !== undefined && httpUrl === undefined) callOptions.push(`ca: readFileSync(${JSON.stringify(ca)})`);
  if (credentialsFrom !== undefined)
    callOptions.push(`credentials: process.env[${JSON.stringify(credentialsFrom)}] ?? ""`);
  if (compress === true) advanced.push("compression: { algorithms: nodeCompressions(), minBytes: Infinity }");
  if (advanced.length > 0) callOptions.push(`advanced: { ${advanced.join(", ")} }`);
  return {
    text: callOptions.length === 0 ? "" : `{ ${callOptions.join(", ")} }`,
    names: dev === true && httpUrl === undefined ? ["devCertificate"] : [],
    imports: [
      ...(ca === undefined || httpUrl !== undefined ? [] : ['import { readFileSync } from "node:fs";']),
      ...(httpUrl === undefined ? [] : ['import { httpTransport } from "@quicrpc/http";']),
    ],
  };
}

function callOptionsOf({ metadata, timeoutMs, via, compress }: Copyable): string {
  // A list, because a key may repeat.
  const fields = metadata.map(([key, value]) => [key, key.endsWith("-bin") ? (fromBase64(value) ?? value) : value]);
  const callOptions = [
    ...(fields.length === 0 ? [] : [`metadata: ${typeScriptOf(fields)}`]),
    ...(timeoutMs === undefined ? [] : [`timeoutMs: ${timeoutMs}`]),
    ...(via === undefined ? [] : [`via: ${JSON.stringify(via)}`]),
    ...(compress === true ? ["compress: true"] : []),
  ];
  return callOptions.length === 0 ? "" : `{ ${callOptions.join(", ")} }`;
}

/** Returns the input with file names in its blob fields, in the form that `quicrpc call` reads. */
function withFiles(json: string, files: Copyable["files"] = {}): string {
  const named = Object.entries(files).map(([field, { name }]) => [field, `@${name}`]);
  if (named.length === 0) return json;
  try {
    return JSON.stringify({ ...(JSON.parse(json) as object), ...Object.fromEntries(named) });
  } catch {
    return json;
  }
}

/** Quotes a word for a POSIX shell. */
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
