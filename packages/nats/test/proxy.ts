import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A link to a server on this machine, which tests take away without anybody being told, as a network does. */
export class Proxy {
  private readonly sockets: Set<Socket> = new Set();
  private readonly server: Server;
  private passing = true;

  private constructor(target: () => number) {
    this.server = createServer((near) => {
      const far = connect(target(), "127.0.0.1");
      this.join(near, far);
      this.join(far, near);
    });
  }

  static async listen(target: () => number): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.server.listen(0, "127.0.0.1");
    await once(proxy.server, "listening");
    return proxy;
  }

  get url(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Nothing passes from now on, and no connection ends. */
  pause(): void {
    this.passing = false;
    for (const socket of this.sockets) socket.pause();
  }

  resume(): void {
    this.passing = true;
    for (const socket of this.sockets) socket.resume();
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on("data", (bytes) => to.write(bytes));
    from.on("error", () => {});
    from.on("close", () => {
      this.sockets.delete(from);
      to.destroy();
    });
    if (!this.passing) from.pause();
  }
}
