import type { PageTransportProvider } from "@quicrpc/browser";
import {
  oneStreamTransport,
  WEBTRANSPORT_STREAM_PROTOCOL,
  type WebTransportSession,
  whenTransportReady,
} from "@quicrpc/core/transport";

/** A session of `@fails-components/webtransport` in a browser. */
interface PonyfillSession extends WebTransportSession {
  readonly protocol: string;
}

type Ponyfill = new (url: string, options: object) => PonyfillSession;

/** URL that the package connects to when it is loaded, to detect the browser's capabilities. */
const PROBE = "https://example.com:23333/test";
/**
 * Size of the flow-control windows in bytes. It must be larger than the data that a session has in flight. With the
 * package's small defaults, a session would stall.
 */
const WINDOW = 2 * 1024 * 1024;

let loading: Promise<Ponyfill> | undefined;

const ponyfill: PageTransportProvider = {
  kind: "ponyfill",
  name: "the ponyfill",
  scheme: "https:",
  async open(url, signal) {
    loading ??= load();
    const WebTransportPonyfill = await loading;
    signal.throwIfAborted();
    const session = new WebTransportPonyfill(url.href, {
      protocols: [WEBTRANSPORT_STREAM_PROTOCOL],
      initialStreamFlowControlWindow: WINDOW,
      streamFlowControlWindowSizeLimit: WINDOW,
      initialSessionFlowControlWindow: WINDOW,
      sessionFlowControlWindowSizeLimit: WINDOW,
    });
    await whenTransportReady(session, signal);
    if (session.protocol === WEBTRANSPORT_STREAM_PROTOCOL) return oneStreamTransport(session, "client");
    session.close();
    throw new Error(`the server does not speak ${WEBTRANSPORT_STREAM_PROTOCOL}`);
  },
};

/**
 * Returns a transport for pages whose server uses `http2Transport()` or `failsTransport()`: WebTransport over the
 * WebSocket of the package's ponyfill, as in `connect(url, { fallback: { transport: ponyfillTransport() } })`. It does
 * not support `serverCertificateHashes`.
 */
export function ponyfillTransport(): PageTransportProvider {
  return ponyfill;
}

/** Loads the package. Blocks the connection to `PROBE` that the package makes when it is imported. */
async function load(): Promise<Ponyfill> {
  const scope = globalThis as { WebTransport?: (typeof globalThis)["WebTransport"] };
  const { WebTransport: native } = scope;
  if (native === undefined) return imported();
  const guarded = new Proxy(native, {
    construct(target, args: unknown[]) {
      if (String(args[0]) === PROBE) throw new Error("nobody is asked");
      return Reflect.construct(target, args) as WebTransport;
    },
  });
  scope.WebTransport = guarded;
  try {
    return await imported();
  } finally {
    if (scope.WebTransport === guarded) scope.WebTransport = native;
  }
}

async function imported(): Promise<Ponyfill> {
  // The compiler finds the types of the package's build for Node.
  const ponyfillModule = (await import("@fails-components/webtransport")) as unknown as {
    WebTransportPonyfill?: Ponyfill;
  };
  if (ponyfillModule.WebTransportPonyfill !== undefined) return ponyfillModule.WebTransportPonyfill;
  throw new Error('bundle @fails-components/webtransport with the condition "browser"');
}
