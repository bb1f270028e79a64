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

/** Makes calls in a session, which is opened when it is needed. */
class Streams {
  readonly #url: URL;
  readonly #options: ScriptOptions;
  readonly #callOverHttp: Call;
  #services: Promise<readonly ServiceDescription[]> | undefined = undefined;
  #session: Promise<Session> | undefined = undefined;

  constructor(url: URL, options: ScriptOptions, callOverHttp: Call) {
    this.#url = url;
    this.#options = options;
    this.#callOverHttp = callOverHttp;
  }

  async start(path: string, input?: unknown, options?: CallOptions): Promise<unknown> {
    this.#services ??= this.#describe();
    this.#session ??= this.#open();
    const [services, session] = await Promise.all([this.#services, this.#session]);
    return session.start(methodAt(path, services), input, options);
  }

  async close(): Promise<void> {
    await (await this.#session)?.close();
  }

  /** Asks the server for the ids of its methods, which requests in a session have instead of names. */
  async #describe(): Promise<readonly ServiceDescription[]> {
    try {
      const { services } = (await this.#callOverHttp("quicrpc.v1.Reflection/list")) as ReflectionList;
      return services;
    } catch (thrown) {
      this.#services = undefined;
      const { code, message } = RpcError.from(thrown);
      const hint = "mount createReflection(routers) of @quicrpc/services, and permit this client to call it";
      throw new RpcError(code, `reflection failed: ${message}`, { cause: thrown, hint });
    }
  }

  /** Opens a session. When it ends or is drained, the next call opens another. */
  async #open(): Promise<Session> {
    const forget = (): void => {
      this.#session = undefined;
    };
    try {
      const session = await openSession(this.#url, this.#options);
      void Promise.race([session.draining, session.closed]).then(forget);
      return session;
    } catch (error) {
      forget();
      throw RpcError.from(error, "unavailable");
    }
  }
}

export type { Streams };

/** Opens a session over WebTransport, or over a WebSocket if WebTransport is missing or does not work. */
async function openSession(url: URL, options: ScriptOptions): Promise<Session> {
  // Without TLS there is no WebTransport.
  const target = url.href.replace(/^http:/, "ws:");
  const reach = candidatesFor(target, url.protocol === "http:" ? {} : options);
  const { signal } = new AbortController();
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
