import { devCertificate, type DevCertificate, serve, type Server } from "@quicrpc/node";
import { behaviourRouter, Witness } from "../behaviour/service.js";

/** A server of the behaviour suite's methods, with both transports of a page. */
export class BehaviourServer {
  readonly certificate: DevCertificate;
  private readonly server: Server;

  private constructor(certificate: DevCertificate, server: Server) {
    this.certificate = certificate;
    this.server = server;
  }

  static async start(): Promise<BehaviourServer> {
    const certificate = await devCertificate();
    const { cert, key } = certificate;
    const routers = [behaviourRouter(new Witness())];
    const listen = ["https://127.0.0.1:0/rpc"];
    return new BehaviourServer(certificate, await serve({ listen, webSocket: true, tls: { cert, key }, routers }));
  }

  get url(): string {
    return this.server.urls[0] as string;
  }

  async close(): Promise<void> {
    await this.server.close();
  }
}
