import { type CallOptions, type Limits, RpcError } from "@quicrpc/core";
import { foreignUnaryCalls, type MethodDescriptor } from "@quicrpc/core/generated";
import type { Credentials } from "@quicrpc/core/internal";
import { HttpClient } from "@quicrpc/http/internal";
import type { CertificateHash } from "../transport.js";
import { anyMessage } from "./any-message.js";
import type { Streams } from "./session.js";

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
}

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
  /** Closes the session if there is one. Calls in progress fail with `unavailable`. */
  close(): Promise<void>;
}

/** The script's element. `currentScript` is set only while the script runs for the first time. */
const { src, nonce } = document.currentScript as HTMLScriptElement;

/** Loads the code for sessions from the folder of this script. */
const loadSessions = (): Promise<typeof Streams> =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = () => resolve(quicrpc.Streams as typeof Streams);
    script.onerror = () => reject(new RpcError("unavailable", `${script.src} cannot be loaded, or has been changed`));
    script.integrity = SESSION_INTEGRITY;
    script.crossOrigin = "";
    script.nonce = nonce;
    script.src = new URL("quicrpc-session.js", src).href;
    document.head.append(script);
  });

/** The global of the script. */
interface Global {
  readonly RpcError: typeof RpcError;
  /**
   * Returns a client of the server at `url`, which may be relative to the page's URL. Rejects with `RpcError` if the
   * server does not answer a ping over HTTP.
   */
  connect(url: string | URL, options?: ScriptOptions): Promise<ScriptClient>;
  /** Set by the file with the code for sessions. */
  Streams?: typeof Streams;
}

const quicrpc: Global = {
  RpcError,
  async connect(url, options = {}) {
    const target = new URL(url, location.href);
    const http = new HttpClient(target, options);
    const call: Call = (path, input, callOptions) => {
      const [service = "", name = ""] = path.split("/");
      const method: MethodDescriptor<"unary"> = {
        kind: "unary",
        calling: foreignUnaryCalls,
        name,
        input: anyMessage,
        output: anyMessage,
        idempotent: false,
        readOnly: false,
        errors: {},
        // Requests over HTTP have names instead of ids.
        id: 0,
        service: { name: service, id: 0 },
      };
      return http.start(method, input, callOptions);
    };
    const load = async (): Promise<Streams> => new (quicrpc.Streams ?? (await loadSessions()))(target, options, call);
    let streams: Promise<Streams> | undefined;
    let closed = false;
    await call("quicrpc.v1.Http/ping");
    return {
      call,
      async stream(...args) {
        if (closed) throw new RpcError("unavailable", "the client was closed", { refused: true });
        streams ??= load();
        streams.catch(() => (streams = undefined));
        return (await streams).start(...args);
      },
      async close() {
        closed = true;
        http.close();
        await (await streams)?.close();
      },
    };
  },
};

Object.assign(globalThis, { quicrpc });
