import { WEBSOCKET_PROTOCOL } from "@quicrpc/core/transport";
import type { CertificateHash, Opener } from "./transport.js";
import { whenReady } from "./when-ready.js";

/** The name is the same over WebTransport. */
const PROTOCOL = WEBSOCKET_PROTOCOL;

/** Opens a session of the platform's own WebTransport. */
export function webTransportOpener(url: URL, hashes: readonly CertificateHash[] | undefined): Opener {
  return async (signal) => {
    if (typeof WebTransport === "undefined") throw new Error("it is missing here, or the page is no secure context");
    const options: WebTransportOptions & { protocols: string[] } = {
      protocols: [PROTOCOL],
      ...(hashes !== undefined && { serverCertificateHashes: [...hashes] as WebTransportHash[] }),
    };
    const transport: WebTransport & { readonly protocol?: string } = new WebTransport(url, options);
    await whenReady(transport, signal);
    // Browsers that cannot name protocols have no such member, and for a server that cannot it is empty.
    const { protocol = "" } = transport;
    if (protocol === "" || protocol === PROTOCOL) return transport;
    transport.close();
    throw new Error(`the server chose the protocol ${protocol} rather than ${PROTOCOL}`);
  };
}
