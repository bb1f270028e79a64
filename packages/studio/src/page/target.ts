import { connect } from "@quicrpc/browser";
import { type Caller, type Connection, createConnection, createSession, type Session } from "@quicrpc/core";
import { WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { httpTransport } from "@quicrpc/http";
import type { PageRoute, PageSettings, Trust } from "../assets.js";
import { type CarrierEvent, type NetworkSample, watchCarrier } from "../carrier.js";
import { NetworkWatch, SAMPLE_MS, type WatchedConnection } from "../network-watch.js";
import { Observed } from "./observed.js";

/** Maximum number of network samples that are stored: five minutes. */
const MAX_SAMPLES = 600;

/** The server that a page shows, with the state of the connection to it. */
export class ServerTarget extends Observed {
  /** URL of the server, or "" until it is known. */
  url: string;
  /** How the server is trusted. Used for calls that are copied from the page. */
  readonly trust: Trust;
  /** Name of the network whose measurements are shown, such as "this page's network". */
  network: string;
  readonly samples: { readonly at: number; readonly sample: NetworkSample }[] = [];
  readonly caller: Caller;
  /** Caller that answers requests about the server's services. */
  readonly reflection: Caller;
  /** True if the server itself answers requests about its services. */
  readonly describesItself: boolean;
  /** True if another process carries the calls. Calls then have names, under which that process reports timings. */
  readonly isCarried: boolean;
  private readonly isHttp: boolean;
  /** Options that the user may set for calls. */
  readonly can: { readonly via: boolean; readonly compress: boolean };
  /** Called when there are new descriptions of the services. */
  onModel: () => void = () => {};
  private model: number | undefined = undefined;
  onTimings: (event: CarrierEvent & { readonly type: "timings" }) => void = () => {};

  private constructor(
    {
      url,
      network,
      trust = {},
    }: { readonly url: string; readonly network: string; readonly trust?: Trust | undefined },
    caller: Caller,
    route: PageRoute["via"],
    reflection?: Caller,
  ) {
    super();
    this.reflection = reflection ?? caller;
    this.describesItself = reflection === undefined;
    this.isCarried = route === "process";
    this.can = { via: route !== "http", compress: route === "process" };
    this.url = url;
    this.isHttp = route === "http";
    this.trust = trust;
    this.network = network;
    this.caller = caller;
  }

  /** HTTP URL below which the server's methods are available. Undefined if the server may not support HTTP. */
  get httpUrl(): string | undefined {
    return this.isHttp || this.trust.plainHttp === true || this.url.startsWith("http:") ? this.url : undefined;
  }

  static async open(
    { route, describedBy, trust }: Pick<PageSettings, "route" | "describedBy" | "trust">,
    token: string | undefined,
  ): Promise<ServerTarget> {
    switch (route.via) {
      case "process": {
        const connection = connectProcess(token);
        const target = new ServerTarget(
          { url: "", network: "", trust },
          connection,
          route.via,
          describedBy && connection,
        );
        void target.listen(connection, (event) => target.receive(event));
        return target;
      }
      case "connect": {
        const hashes = route.certificateHashes?.map((hex) => ({
          algorithm: "sha-256",
          value: Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16)),
        }));
        const process = describedBy && connectProcess(token);
        const connection = await connect(route.url, {
          ...(hashes !== undefined && { serverCertificateHashes: hashes }),
        });
        const description = { url: route.url, network: "this page's network", trust };
        const target = new ServerTarget(description, connection, route.via, process);
        target.watch(connection);
        if (process !== undefined) void target.listen(process, (event) => target.noteModel(event));
        return target;
      }
      case "http": {
        const url = `${location.origin}${route.prefix}`;
        const network = "HTTP requests, of whose connection a page learns nothing";
        return new ServerTarget({ url, network }, httpTransport().caller(url), route.via);
      }
    }
  }

  /** Reads the events of the process that carries the calls, until that process ends. */
  private async listen(caller: Caller, receive: (event: CarrierEvent) => void): Promise<void> {
    for (;;) {
      try {
        const events = caller.start(watchCarrier, undefined) as AsyncIterable<CarrierEvent>;
        for await (const event of events) receive(event);
      } catch {
        receive({ type: "network", status: "closed", error: "the command has ended", sessions: 0, stats: {} });
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }

  private noteModel(event: CarrierEvent): void {
    if (event.type !== "target") return;
    const isOther = this.model !== undefined && this.model !== event.model;
    this.model = event.model;
    if (isOther) this.onModel();
  }

  private receive(event: CarrierEvent): void {
    this.noteModel(event);
    if (event.type === "timings") this.onTimings(event);
    else if (event.type === "network") this.record(event);
    else {
      this.url = event.url;
      this.network = event.network;
    }
    this.changed();
  }

  private watch(connection: WatchedConnection): void {
    const network = new NetworkWatch(connection);
    const sample = async (): Promise<void> => {
      this.record(await network.sample());
      this.changed();
    };
    void sample();
    setInterval(() => void sample(), SAMPLE_MS);
  }

  private record(sample: NetworkSample): void {
    this.samples.push({ at: Date.now() / 1000, sample });
    if (this.samples.length > MAX_SAMPLES) this.samples.shift();
  }
}

/** Returns a connection to the process that served the page. */
function connectProcess(token: string | undefined): Connection {
  const url = `ws://${location.host}/session?token=${encodeURIComponent(token ?? "")}`;
  return createConnection(async () => sessionOver(url), { peer: "the quicrpc command" });
}

function sessionOver(url: string): Promise<Session> {
  const socket = new WebSocket(url, WEBSOCKET_PROTOCOL);
  return new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(createSession(webSocketTransport(socket, "client"))));
    socket.addEventListener("error", () =>
      reject(
        new Error(
          "the quicrpc command does not answer: is it running, and is this page's address the one that it printed?",
        ),
      ),
    );
  });
}
