import { createSession } from "@quicrpc/core";
import { connect, Endpoint } from "@quicrpc/quic";
import type { Certificate, Client, Contestant } from "../contestant.js";
import { clientOf, routerOf } from "./quicrpc.js";

const ALPN = ["quicrpc/1"];

/** Sessions that begin in 0-RTT data, by the engine's own option. */
export const early: Contestant = {
  serve(host, { cert, key }) {
    const endpoint = Endpoint.bind({ host, port: 0 });
    const routers = [routerOf()];
    endpoint.listen({ alpn: ALPN, tls: { cert, key }, earlyData: true }, (session) => {
      createSession(session, { routers });
    });
    return Promise.resolve(endpoint.address.port);
  },
  connect: open,
  resume: open,
};

async function open(host: string, port: number, { hash }: Certificate): Promise<Client> {
  const tls = { serverCertificateHashes: [hash] };
  return clientOf(createSession(await connect({ host, port, alpn: ALPN, tls, earlyData: true })), {});
}
