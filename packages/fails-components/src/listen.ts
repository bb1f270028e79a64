import { type ListenTransport, listenTwice, listenWeb } from "@quicrpc/node/transport";
import { failsProtocol } from "./acceptor.js";
import { listenFailsHttp3 } from "./http3.js";
import { failsError, http3Problem } from "./package.js";

/**
 * Listens on `https://` over HTTP/2, and over HTTP/3 on the UDP port of the same number if the quiche transport can be
 * loaded. `httpVersion: 3` rejects if it cannot; `httpVersion: 2` does not try.
 */
export async function listenFails(
  httpVersion: 2 | 3 | undefined,
  ...[target, settings, onIncoming]: Parameters<ListenTransport>
): ReturnType<ListenTransport> {
  const overTcp = listenWeb({ webSocket: settings.web.webSocket, protocols: [failsProtocol] });
  const problem = httpVersion === 2 ? undefined : await http3Problem();
  if (problem !== undefined && httpVersion === 3) throw failsError("ERR_FAILS_HTTP3", problem);
  if (problem === undefined && httpVersion !== 2) {
    return listenTwice(overTcp, listenFailsHttp3, target, settings, onIncoming);
  }
  const listeners = [await overTcp(target, settings, onIncoming)];
  if (problem !== undefined) {
    process.emitWarning(`${problem}: ${listeners[0]?.url} has HTTP/2 only`, { code: "QUICRPC_FAILS_HTTP2" });
  }
  return listeners;
}
