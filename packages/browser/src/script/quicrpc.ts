import { type CallOptions, type Limits, RpcError } from "@quicrpc/core";
import { foreignUnaryCalls, type MessageCodec, type MethodDescriptor } from "@quicrpc/core/generated";
import type { Credentials } from "@quicrpc/core/internal";
import { HttpClient, type HttpClientCall } from "@quicrpc/http/internal";
import { DEFAULT_TIMEOUT_MS, pageUrl } from "../reconnecting.js";
import type { CertificateHash } from "../transport.js";
import { anyMessage } from "./any-message.js";
import type { Start, Streams } from "./session.js";

/** SHA-256 of the file with the code for sessions. scripts/bundle.mjs inserts it. */
declare const SESSION_INTEGRITY: string;

/** Options of `quicrpc.connect`. */
export interface ScriptOptions {
  /** A token, or a function that returns one. The server's `authenticate` receives it. Default: none. */
  readonly credentials?: Credentials;
  /** SHA-256 hashes of the certificates to trust over WebTransport. Default: none. */
  readonly serverCertificateHashes?: readonly CertificateHash[];
  /** Limits of calls. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Milliseconds within which the server has to answer. Default 10,000. */
  readonly timeoutMs?: number;
}

const OPTIONS = /^(credentials|serverCertificateHashes|limits|timeoutMs)$/;

/** Makes a call. `method` is a name such as "demo.v1.Arith/multiply". */
export type Call = (method: string, input?: unknown, options?: CallOptions) => Promise<unknown>;

/** A client without generated code. */
interface ScriptClient {
  /** Calls a unary method, or sends a notification, over plain HTTP. */
  readonly call: Call;
  /**
   * Calls a method of any kind in a session, which the first such call opens. Like a generated client, resolves with an
   * async iterable for a server stream, the response for a client stream, and `{ readable, writable }` for a duplex call.
   */
  readonly stream: Call;
  /** Closes the sessions. Calls in progress fail with `unavailable`. */
  close(): Promise<void>;
}

/** The script's element. `currentScript` is set only while a classic script runs for the first time. */
const element = globalThis.document?.currentScript as HTMLScriptElement | null | undefined;
if (!element?.src) throw new Error("load quicrpc.js with a classic script tag");
const { src, nonce } = element;

/** Loads the code for sessions from the folder of this script. */
const loadSessions = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = () => resolve();
    script.onerror = () => reject(new RpcError("unavailable", `${script.src} cannot be loaded, or has been changed`));
    setTimeout(script.onerror, DEFAULT_TIMEOUT_MS);
    script.integrity = SESSION_INTEGRITY;
    script.crossOrigin = "";
    script.nonce = nonce;
    // The hash keeps caches from answering with the file of another version.
    script.src = new URL(`quicrpc-session.js?${SESSION_INTEGRITY}`, src).href;
    document.head.append(script);
  });

/** The load in progress. */
let loading: Promise<void> | undefined;

/** Returns the method of a name such as "demo.v1.Arith/multiply" for calls over HTTP. */
function methodNamed(path: string, codec?: MessageCodec<unknown>): MethodDescriptor<"unary"> {
  const [, service, name] = /^(\w[\w.]*)\/([\w$]+)$/.exec(path) ?? [];
  if (service === undefined || name === undefined) {
    throw new RpcError("invalid_argument", `${path} is not the name of a method`);
  }
  // Without ids, because requests over HTTP have names instead, and not idempotent.
  return {
    kind: "unary",
    calling: foreignUnaryCalls,
    name,
    input: codec,
    output: codec,
    errors: {},
    service: { name: service },
  } as unknown as MethodDescriptor<"unary">;
}

/** Also runs functions as calls of methods without codecs, which therefore end with their signals and timeouts. */
class ScriptHttpClient extends HttpClient {
  protected override unary(call: HttpClientCall, input: unknown): Promise<unknown> {
    return call.method.input === undefined ? (input as () => Promise<unknown>)() : super.unary(call, input);
  }
}

/** The global of the script. */
interface Global {
  readonly RpcError: typeof RpcError;
  /**
   * Returns a client of the server at `url`, which may be relative to the page's URL. Rejects with `TypeError` if its
   * scheme is neither https nor http, and with `RpcError` if the server does not answer a ping over HTTP.
   */
  connect(url: string | URL, options?: ScriptOptions): Promise<ScriptClient>;
  /** Set by the file with the code for sessions. */
  Streams?: typeof Streams;
}

const quicrpc: Global = {
  RpcError,
  async connect(url, options = {}) {
    const target = pageUrl(url, "https:// or http://");
    for (const name in options) if (!OPTIONS.test(name)) throw new TypeError(`connect has no option ${name}`);
    const http = new ScriptHttpClient(target, options);
    const call: Call = async (path, input, callOptions) =>
      http.start(methodNamed(path, anyMessage), input, callOptions);
    let streams: Streams | undefined;
    await call("quicrpc.v1.Http/ping", undefined, { timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS });
    return {
      call,
      async stream(path, input, callOptions = {}) {
        const { signal, timeoutMs, deadline = Infinity } = callOptions;
        const end = Math.min(Number(deadline), Date.now() + (timeoutMs ?? Infinity));
        const open = async (): Promise<Start> => {
          if (!quicrpc.Streams) await (loading ??= loadSessions().finally(() => (loading = undefined)));
          streams ??= new (quicrpc.Streams as typeof Streams)(target, options, call, http.closed);
          return streams.open(path);
        };
        const start = (await http.start(methodNamed(path), open, { signal, timeoutMs, deadline })) as Start;
        return start(input, { ...callOptions, timeoutMs: undefined, deadline: end });
      },
      async close() {
        http.close();
        await streams?.close();
      },
    };
  },
};

Object.assign(globalThis, { quicrpc });
