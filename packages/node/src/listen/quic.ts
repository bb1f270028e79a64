import { Endpoint, type QuicSession } from "@quicrpc/quic";
import { ALPN } from "../protocol.js";
import type { Arrival, Listener, ListenSettings, ListenTarget } from "./listener.js";

/** Listens for `quic://`, on a UDP port. */
export async function listenQuic(
  { host, port }: ListenTarget,
  { tls, clientCertificates, transport }: ListenSettings,
  onArrival: (arrival: Arrival) => void,
): Promise<Listener> {
  const endpoint = Endpoint.bind({ port, ...(host !== undefined && { host }) });
  const { address } = endpoint;
  const url = `quic://${address.family === "IPv6" ? `[${address.host}]` : address.host}:${address.port}`;
  const onSession = (session: QuicSession): void => {
    onArrival({
      transport: session,
      peer: {
        transport: "quic",
        listener: url,
        remoteAddress: session.remoteAddress,
        headers: new Headers(),
        path: undefined,
        origin: undefined,
        // Read when it is asked for.
        get certificate() {
          return session.peerCertificate;
        },
        earlyData: false,
      },
    });
  };
  try {
    endpoint.listen(
      {
        alpn: [ALPN],
        // The engine says what is wrong with none.
        tls: tls as NonNullable<typeof tls>,
        ...(clientCertificates !== undefined && { clientCertificates }),
        ...(transport !== undefined && { transport }),
      },
      onSession,
    );
  } catch (error) {
    await endpoint.close();
    throw error;
  }
  return {
    url,
    address,
    // The port serves the sessions there are; `serve` refuses new ones.
    stop: () => {},
    close: (info) => endpoint.close(info),
    ref: () => void endpoint.ref(),
    unref: () => void endpoint.unref(),
  };
}
