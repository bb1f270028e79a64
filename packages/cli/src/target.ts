import { addAbortListener } from "node:events";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { type CallOptions, type Connection, json, sanitizeForLog, RpcError, type Session } from "@quicrpc/core";
import type { UnsharedBytes } from "@quicrpc/core/internal";
import type { AdvancedDialOptions, DevCertificate, DialOptions, TransportProvider } from "@quicrpc/node";
import { type Command, InvalidArgumentError } from "commander";
import { colorsFor } from "./report.js";

/** Exit codes of the command `quicrpc`. docs/error-codes.md lists them. */
export const EXIT = {
  ok: 0,
  /** A call failed, a schema is invalid, a file is stale, or a change breaks callers. */
  failed: 1,
  /** The command line contains an unknown or invalid argument. */
  usage: 2,
  /** No session with the server could be created. */
  noSession: 3,
} as const;

export interface TargetOptions {
  readonly ca?: string;
  readonly hash?: UnsharedBytes;
  readonly dev?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
  readonly credentialsFrom?: string;
  readonly header?: Readonly<Record<string, string>>;
  /** If true, an https:// URL stands for plain HTTP instead of WebTransport. */
  readonly plainHttp?: boolean;
  /** Schema modules that describe the services, instead of the server's reflection. */
  readonly schema?: readonly string[];
  /** If true, the session supports compression for calls that request it. */
  readonly compress?: boolean;
  /** Encoding of the session's messages. Default "msgpack". */
  readonly codec?: "msgpack" | "json";
}

export const TARGET_HELP = `
A URL is quic://host[:port], tls://, wss://, https:// (WebTransport), http:// (plain HTTP), unix:/path and so on, whatever the server
listens on. Exit codes: 0 done, 1 the call failed, 2 wrong usage, 3 no session, 130 ended by Ctrl-C.`;

/** Description of the argument of commands that also call gRPC servers. */
export const ANY_SERVER = "the server; grpc:// (or grpcs:// for TLS) for a gRPC server with reflection";

export function withTarget(command: Command): Command {
  return withTrust(command).option("--json", "print JSON");
}

export function withSchemaOption(command: Command): Command {
  return command.option(
    "--schema <file>",
    "use the services of this schema module (path or glob) instead of the server's reflection; repeatable (default: the server's reflection, or without it the project's schemas)",
    addFile,
  );
}

function addFile(file: string, before: readonly string[] = []): readonly string[] {
  return [...before, file];
}

export function withTrust(command: Command): Command {
  return command
    .option("--ca <file>", "trust these roots (PEM) instead of the system's")
    .option("--hash <sha-256>", "trust the certificate with this hash, in hex", parseHash)
    .option("--dev", "trust this machine's development certificate")
    .option("--timeout <ms>", "fail after this many milliseconds", parseMs, 10_000)
    .option("--credentials-from <variable>", "send this environment variable as credentials, such as a token")
    .option(
      "-H, --header <field>",
      'send a header field, "name: value", with wss://, https://, http:// and grpc://; repeatable',
      parseHeader,
    )
    .option("--plain-http", "call an https:// URL over plain HTTP, for example behind a proxy that terminates TLS");
}

/**
 * Creates a session and calls `work` with it. Returns the exit code. Prints the error if there is no session or a call
 * fails. SIGINT and SIGTERM make `signal` fire, so that the server is notified; a second signal ends the process.
 */
export function withSession(
  url: string,
  options: TargetOptions,
  work: (session: Session, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  return withSessions(url, options, 1, ([session], signal) => work(session, signal));
}

export async function withSessions(
  url: string,
  options: TargetOptions,
  count: number,
  work: (sessions: readonly [Session, ...Session[]], signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const sessions: Session[] = [];
  const interrupt = new Interrupt();
  const { signal } = interrupt;
  try {
    while (sessions.length < count) sessions.push(await dialTarget(url, options, signal));
    return await work(sessions as [Session, ...Session[]], signal);
  } catch (error) {
    if (signal.aborted) return interrupt.exitCode;
    const dialled = sessions.length === count;
    if (dialled && !(error instanceof RpcError)) throw error;
    report(error instanceof Error ? error : new Error(String(error)), options);
    return dialled ? EXIT.failed : exitWithout(error);
  } finally {
    interrupt.end();
    await Promise.all(sessions.map((session) => session.close()));
  }
}

export async function withConnection(
  url: string,
  options: TargetOptions,
  work: (connection: Connection, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  let connection: Connection | undefined;
  const interrupt = new Interrupt();
  const { signal } = interrupt;
  try {
    const { connect } = await import("@quicrpc/node");
    connection = await connect(url, { ...(await dialOptionsOf(url, options)), signal });
    return await work(connection, signal);
  } catch (error) {
    if (signal.aborted) return interrupt.exitCode;
    report(error instanceof Error ? error : new Error(String(error)), options);
    return connection === undefined ? exitWithout(error) : EXIT.failed;
  } finally {
    interrupt.end();
    await connection?.close();
  }
}

export function callOptions({ timeout }: TargetOptions, signal: AbortSignal): CallOptions {
  return { timeoutMs: timeout, signal };
}

/** Makes an abort signal fire at the first SIGINT or SIGTERM. */
class Interrupt {
  /** Exit code that shells use for a process that a signal ended, or 0 before a signal. */
  exitCode = 0;
  private readonly controller = new AbortController();
  private readonly ends: (() => void)[];

  constructor() {
    this.ends = (["SIGINT", "SIGTERM"] as const).map((name) => {
      const onSignal = (): void => {
        this.exitCode = 128 + constants.signals[name];
        this.end();
        this.controller.abort(new RpcError("cancelled", `ended by ${name}`));
      };
      process.on(name, onSignal);
      return () => process.off(name, onSignal);
    });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Stops handling the signals, so that they end the process as usual. */
  end(): void {
    for (const end of this.ends.splice(0)) end();
  }
}

function exitWithout(error: unknown): number {
  return error instanceof TypeError ? EXIT.usage : EXIT.noSession;
}

export async function dialTarget(url: string, options: TargetOptions, signal?: AbortSignal): Promise<Session> {
  // Loaded here because it loads the native engine, which help and usage errors do not need.
  const { dial } = await import("@quicrpc/node");
  const session = await dial(url, { ...(await dialOptionsOf(url, options)), ...(signal !== undefined && { signal }) });
  // Neither has a handshake.
  if (isPlainHttp(url, options) || isGrpc(url)) await answering(session, options.timeout, signal);
  return session;
}

/** Resolves when the server has answered a ping. Rejects like a failed connection attempt. */
async function answering(session: Session, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const endSignal = AbortSignal.any(signal === undefined ? [timeout] : [timeout, signal]);
  const aborted = new Promise<never>((_, reject) => {
    const timeoutError = new RpcError("deadline_exceeded", `no answer within ${timeoutMs} ms`);
    addAbortListener(endSignal, () => reject(signal?.aborted === true ? signal.reason : timeoutError));
  });
  try {
    await Promise.race([session.ping(), aborted]);
  } catch (error) {
    await session.close();
    throw error;
  }
}

async function certificateHashes({
  hash,
  dev,
}: Pick<TargetOptions, "hash" | "dev">): Promise<DevCertificate["hash"][]> {
  const hashes = hash === undefined ? [] : [{ algorithm: "sha-256", value: hash } as const];
  return dev === true ? [...hashes, (await (await import("@quicrpc/node")).devCertificate()).hash] : hashes;
}

/** Returns the certificate hashes that the command-line options trust, in hexadecimal. */
export async function trustedHashes(options: TargetOptions): Promise<string[]> {
  return (await certificateHashes(options)).map(({ value }) => Buffer.from(value).toString("hex"));
}

/** Matches URL schemes without certificates, for which the option --dev has no effect. */
const WITHOUT_TLS = /^(tcp|ws|unix|http|grpc):/i;

function isGrpc(url: string): boolean {
  return /^grpcs?:/i.test(url);
}

function isPlainHttp(url: string, { plainHttp }: TargetOptions): boolean {
  if (plainHttp === true && !/^https?:/i.test(url))
    throw new TypeError("--plain-http requires a URL that begins with https:// or http://");
  return plainHttp === true || /^http:/i.test(url);
}

async function dialOptionsOf(url: string, options: TargetOptions): Promise<DialOptions> {
  const { ca, timeout, credentialsFrom, header, compress, codec } = options;
  const hashes = await certificateHashes(WITHOUT_TLS.test(url) ? { ...options, dev: false } : options);
  const credentials = credentialsFrom === undefined ? undefined : process.env[credentialsFrom];
  if (credentialsFrom !== undefined && credentials === undefined) {
    throw new TypeError(`the environment variable ${credentialsFrom} of --credentials-from is not set`);
  }
  if (codec === "json" && isPlainHttp(url, options)) throw new TypeError("--codec cannot be used over plain HTTP");
  const { schema, json: printsJson } = options;
  if (isGrpc(url) && (schema !== undefined || codec === "json"))
    throw new TypeError(`--${schema === undefined ? "codec" : "schema"} cannot be used with gRPC`);
  return {
    timeoutMs: timeout,
    ...(ca !== undefined && { ca: readPem(ca) }),
    ...(hashes.length > 0 && { serverCertificateHashes: hashes }),
    ...(credentials !== undefined && { credentials }),
    advanced: {
      ...(header !== undefined && { headers: header }),
      ...(compress === true && { compression: await onRequest() }),
      ...(codec === "json" && { codec: json }),
      ...(isPlainHttp(url, options) && { transports: [await httpFor(url)] }),
      ...(isGrpc(url) && {
        transports: [
          (await import("./grpc/transport.js")).grpcProvider(url, compress, (notice) =>
            printNotice({ notice }, printsJson === true),
          ),
        ],
      }),
    },
  };
}

async function httpFor(url: string): Promise<TransportProvider> {
  if (/^https:/i.test(url)) return (await import("./plain-http.js")).plainHttp();
  return (await import("@quicrpc/http")).httpTransport();
}

/** Returns compression options that compress only calls that request it. */
async function onRequest(): Promise<NonNullable<AdvancedDialOptions["compression"]>> {
  const { nodeCompressions } = await import("@quicrpc/node");
  return { algorithms: nodeCompressions(), minBytes: Infinity };
}

export function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new TypeError(`cannot read the file of --ca: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns the remedy for an error, in terms of the command line if possible. */
export function helpFor(
  error: unknown,
  { credentialsFrom, header }: Pick<TargetOptions, "credentialsFrom" | "header">,
): string | undefined {
  const { code, hint, cause } = (error ?? {}) as Readonly<Record<"code" | "hint" | "cause", unknown>>;
  const isKnown = credentialsFrom !== undefined || header !== undefined;
  if (code === "unauthenticated" && !isKnown)
    return [
      "authenticate with session credentials from an environment variable (--credentials-from), or with metadata: quicrpc call -m 'authorization: Bearer …'",
      ...(typeof hint === "string" ? [hint] : []),
    ].join("; ");
  const isAuthority = String((error as Partial<Error> | undefined)?.message).includes("CaUsedAsEndEntity");
  if (isAuthority && typeof hint === "string") return hint;
  if (isUntrusted(error) || isUntrusted(cause) || isUntrusted((cause as Error | undefined)?.cause))
    return "trust the server's certificate: --dev for this machine's development certificate, --ca <file>, or --hash <sha-256>";
  if (typeof hint === "string") return hint;
  return error instanceof RpcError && Object.hasOwn(HELP, error.code) ? HELP[error.code] : undefined;
}

/** Remedies for errors that contain none, by error code. */
const HELP: Readonly<Record<string, string>> = {
  deadline_exceeded: "--timeout <ms> gives it more time",
  invalid_argument: "quicrpc describe <url> <service/method> shows its input",
  unavailable: "quicrpc doctor <url> checks the server and the path to it",
  unimplemented: "quicrpc ls <url> lists the server's services",
};

function isUntrusted(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && UNTRUSTED.test(code);
}

const UNTRUSTED = /CERTIFICATE_UNTRUSTED$|^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

/** Option names of `dial`, with the corresponding names on the command line. */
const OPTION_WORDS: Readonly<Record<string, string>> = {
  ca: "--ca",
  headers: "-H",
  serverCertificateHashes: "--hash",
};

function messageFor({ message }: Error): string {
  return message.replace(/^the option (\w+) cannot/, (text, name: string) =>
    Object.hasOwn(OPTION_WORDS, name) ? `${OPTION_WORDS[name]} cannot` : text,
  );
}

export function report(error: Error, options: Pick<TargetOptions, "json" | "credentialsFrom" | "header">): void {
  const { json = false } = options;
  const { code } = error as { code?: unknown };
  const hint = helpFor(error, options);
  const message = messageFor(error);
  const { details, reason } = error instanceof RpcError ? error : {};
  if (json) {
    process.stderr.write(`${jsonText({ error: { code, reason, message, details, hint } })}\n`);
    return;
  }
  const colors = colorsFor(process.stderr, process.env);
  // An error that a schema declares and that was thrown without a message has its name as the message.
  const name = reason === undefined || reason === message ? "" : ` ${colors.bold(sanitizeForLog(reason))}`;
  const lines = [`${colors.red(typeof code === "string" ? code : "error")}${name} ${sanitizeForLog(message)}`];
  if (details !== undefined) lines.push(jsonText(details, 2));
  if (hint !== undefined) lines.push(`${colors.green("help:")} ${sanitizeForLog(hint)}`);
  process.stderr.write(`${lines.join("\n")}\n`);
}

/** Prints a notice or advice on stderr. With --json, it is a line of JSON like errors. */
export function printNotice(message: { readonly notice: string } | { readonly help: string }, json: boolean): void {
  if (json) process.stderr.write(`${jsonText(message)}\n`);
  else if ("notice" in message) process.stderr.write(`${sanitizeForLog(message.notice)}\n`);
  else
    process.stderr.write(`${colorsFor(process.stderr, process.env).green("help:")} ${sanitizeForLog(message.help)}\n`);
}

/**
 * Converts values for `JSON.stringify`: bytes to base64, big integers and dates to strings, maps to objects, sets to
 * arrays.
 */
function toJson(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  // The `toJSON` method of a Buffer has already run, so `original` is needed to distinguish a Buffer from an object
  // that looks like its JSON.
  const original = (this as Readonly<Record<string, unknown>>)[key];
  if (original instanceof Uint8Array)
    return Buffer.from(original.buffer, original.byteOffset, original.byteLength).toString("base64");
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}

export function printJson(value: unknown): void {
  process.stdout.write(`${jsonText(value)}\n`);
}

/** Returns `value` as JSON. Escapes terminal control characters in it. */
export function jsonText(value: unknown, indent?: number): string {
  const lines = (JSON.stringify(value, toJson, indent) ?? "null").split("\n");
  return lines.map((line) => sanitizeForLog(line, (hex) => `\\u${hex.padStart(4, "0")}`)).join("\n");
}

function parseHash(text: string): UnsharedBytes {
  const hex = text.replaceAll(":", "");
  if (!/^[0-9a-f]{64}$/i.test(hex)) throw new InvalidArgumentError("It takes 64 hex digits.");
  return new Uint8Array(Buffer.from(hex, "hex"));
}

function parseHeader(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf(":");
  if (at < 1) throw new InvalidArgumentError('It takes "name: value".');
  return { ...before, [text.slice(0, at).trim()]: text.slice(at + 1).trim() };
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("It must be a whole number, 1 or more.");
  return count;
}

function parseMs(text: string): number {
  const ms = Number(text);
  if (!(ms > 0)) throw new InvalidArgumentError("It must be milliseconds, more than 0.");
  return ms;
}
