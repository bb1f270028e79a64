import { WEBSOCKET_PROTOCOL, whenTransportReady } from "@quicrpc/core/transport";
import type { PageTransportProvider } from "./transport.js";

/** Subprotocol that is negotiated in WebTransport. It has the same name as for WebSocket. */
const PROTOCOL = WEBSOCKET_PROTOCOL;

export const webTransportProvider: PageTransportProvider = {
  kind: "webtransport",
  name: "WebTransport",
  scheme: "https:",
  async open(url, signal, { serverCertificateHashes: hashes }) {
    if (typeof WebTransport === "undefined")
      throw new Error("this browser does not support it, or the page is not a secure context");
    const options: WebTransportOptions & { protocols: string[] } = {
      protocols: [PROTOCOL],
      ...(hashes !== undefined && { serverCertificateHashes: [...hashes] as WebTransportHash[] }),
    };
    const transport: WebTransport & { readonly protocol?: string } = new WebTransport(url, options);
    await whenTransportReady(transport, signal);
    // Browsers that do not support subprotocols do not have this member. For a server that does not support them, it is
    // empty.
    const { protocol = "" } = transport;
    if (protocol === "" || protocol === PROTOCOL) return transport;
    transport.close();
    throw new Error(`the server negotiated the protocol "${protocol}" instead of "${PROTOCOL}"`);
  },
};
