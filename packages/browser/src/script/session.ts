import { type CallOptions, RpcError, type Session } from "@quicrpc/core";
import {
  type AnyMethod,
  bytesCodec,
  clientStreamCalls,
  describeMethod,
  duplexCalls,
  type MessageCodec,
  type MethodKind,
  notifyCalls,
  serverStreamCalls,
  unaryCalls,
} from "@quicrpc/core/generated";
import {
  type Calling,
  createClientSession,
  createSoleClientSession,
  sessionOn,
  withCredentials,
} from "@quicrpc/core/internal";
import { candidatesFor } from "../dial.js";
import { openFirst } from "../open.js";
import { usualVia } from "../policy.js";
import { DEFAULT_TIMEOUT_MS } from "../reconnecting.js";
import type { BrowserTransport } from "../transport.js";
import { anyMessage } from "./any-message.js";
import type { Call, ScriptOptions } from "./quicrpc.js";

const KINDS: { readonly [Kind in MethodKind]: Calling<Kind> } = {
  unary: unaryCalls,
  notify: notifyCalls,
  server_stream: serverStreamCalls,
  client_stream: clientStreamCalls,
  duplex: duplexCalls,
};

type MessageForm = "nothing" | "value" | "bytes";

/** A service as quicrpc.v1.Reflection describes it. */
interface ServiceDescription {
  readonly name: string;
  readonly id: number;
  readonly methods: readonly {
    readonly name: string;
    readonly id: number;
    readonly kind: MethodKind;
    readonly takes: MessageForm;
    readonly gives: MessageForm;
  }[];
}

interface ReflectionList {
  readonly services: readonly ServiceDescription[];
}

/** Makes a call of one method. */
export type Start = (input: unknown, options: CallOptions) => unknown;

/** Codes of a server without reflection, or that does not permit this client to call it. */
const REFUSALS = /^(unimplemented|permission_denied|unauthenticated)$/;

/** Makes calls in a session, which is opened when it is needed. */
class Streams {
  readonly #url: URL;
  readonly #options: ScriptOptions;
  readonly #callOverHttp: Call;
  readonly #closing: AbortController = new AbortController();
  /** The current session, and earlier ones whose last calls are in progress. */
  readonly #sessions: Set<Session> = new Set();
  #services: Promise<readonly ServiceDescription[]> | undefined = undefined;
  #session: Promise<Session> | undefined = undefined;

  /** @param closed settles when the client is closed, perhaps before this file was loaded */
  constructor(url: URL, options: ScriptOptions, callOverHttp: Call, closed: Promise<unknown>) {
    // Over HTTP the URL may end in a slash.
    url.pathname = url.pathname.replace(/\/$/, "");
    this.#url = url;
    this.#options = options;
    this.#callOverHttp = callOverHttp;
    void closed.then(() => this.#closing.abort());
  }

  /** Returns a function that calls the method in the current session. */
  async open(path: string): Promise<Start> {
    this.#services ??= this.#describe();
    this.#session ??= this.#open();
    const [services, session] = await Promise.all([this.#services, this.#session]);
    const method = methodAt(path, services);
    return (input, options) => session.start(method, input, options);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()));
  }

  /** Asks the server for the ids of its methods, which requests in a session have instead of names. */
  async #describe(): Promise<readonly ServiceDescription[]> {
    try {
      const options = { timeoutMs: DEFAULT_TIMEOUT_MS };
      const { services } = (await this.#callOverHttp(
        "quicrpc.v1.Reflection/list",
        undefined,
        options,
      )) as ReflectionList;
      return services;
    } catch (thrown) {
      this.#services = undefined;
      const { code, message } = RpcError.from(thrown);
      if (!REFUSALS.test(code)) throw thrown;
      const hint = "mount createReflection(routers) of @quicrpc/services, and permit this client to call it";
      throw new RpcError(code, `reflection failed: ${message}`, { cause: thrown, hint });
    }
  }

  /** Opens a session. When it ends or is drained, the next call opens another, perhaps of an upgraded server. */
  async #open(): Promise<Session> {
    const forget = (): void => {
      this.#session = undefined;
      this.#services = undefined;
    };
    const { signal } = this.#closing;
    try {
      const session = await openSession(this.#url, this.#options, signal);
      this.#sessions.add(session);
      void session.closed.then(() => this.#sessions.delete(session));
      void Promise.race([session.draining, session.closed]).then(forget);
      if (signal.aborted) await session.close();
      return session;
    } catch (error) {
      forget();
      throw RpcError.from(error, "unavailable");
    }
  }
}

export type { Streams };

/** Opens a session over WebTransport, or over a WebSocket if WebTransport is missing or does not work. */
async function openSession(url: URL, options: ScriptOptions, signal: AbortSignal): Promise<Session> {
  // Without TLS there is no WebTransport.
  const target = url.href.replace(/^http:/, "ws:");
  const reach = candidatesFor(target, url.protocol === "http:" ? {} : options);
  const sessionOptions = { peer: reach.url, ...usualVia(), ...(await withCredentials(options)) };
  const { value } = await openFirst({ ...reach, timeoutMs: DEFAULT_TIMEOUT_MS, signal });
  return sessionOn(value as BrowserTransport, (transport) =>
    "openStream" in transport && transport.sole !== undefined
      ? createSoleClientSession(transport, transport.sole, sessionOptions)
      : createClientSession(transport, sessionOptions),
  );
}

function methodAt(path: string, services: readonly ServiceDescription[]): AnyMethod {
  const [serviceName, methodName] = path.split("/");
  const service = services.find(({ name }) => name === serviceName);
  const method = service?.methods.find(({ name }) => name === methodName);
  if (service === undefined || method === undefined)
    throw new RpcError("unimplemented", `the server has no method ${path}`, { refused: true });
  const { name, id, kind, takes, gives } = method;
  return describeMethod<MethodKind, unknown, unknown, unknown, unknown>(service, KINDS[kind], name, {
    id,
    ...codecAs("input", takes),
    ...codecAs("output", gives),
  });
}

function codecAs<Name extends string>(name: Name, form: MessageForm): { readonly [_ in Name]?: MessageCodec<unknown> } {
  if (form === "nothing") return {};
  return { [name]: form === "bytes" ? bytesCodec : anyMessage } as { [_ in Name]: MessageCodec<unknown> };
}

(globalThis as unknown as { quicrpc: { Streams?: typeof Streams } }).quicrpc.Streams = Streams;
