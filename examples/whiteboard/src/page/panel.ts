import type { BrowserConnection } from "@quicrpc/browser";
import { type Interceptor, observeResponse } from "@quicrpc/core";
import { byId } from "./dom.js";

const PING_EVERY_MS = 1000;
/** Milliseconds after which the panel shows that there is no session. */
const UNNOTICED_MS = 2000;
/** Number of round trips in the curve. */
const SHOWN = 60;
/** The curve's width, in units of its own. */
const WIDTH = 60;
const HEIGHT = 20;

const TEXTS = {
  idle: "Not connected",
  connecting: "Reconnecting …",
  ready: "Connected",
  draining: "The server is leaving …",
  closed: "The connection is closed",
};

/** Panel of the connection: its transport, round-trip time, lost datagrams and calls. */
export class Panel {
  private readonly calls: Map<string, number> = new Map();
  private readonly rtts: number[] = [];
  private hasDatagrams = false;
  private received = 0;
  /** The count of the first cursor of this visit, and the next expected one. */
  private first: number | undefined;
  private expected = 0;

  /** Counts the calls that are made. */
  readonly counting: Interceptor = async (call, next) => {
    const { name } = call.method;
    this.count(name, 1);
    try {
      return observeResponse(await next(call), { onOver: () => this.count(name, -1) });
    } catch (error) {
      this.count(name, -1);
      throw error;
    }
  };

  /** Updates the panel until the connection is closed. */
  async follow(connection: BrowserConnection): Promise<void> {
    const timer = setInterval(() => void this.ping(connection), PING_EVERY_MS);
    let late: ReturnType<typeof setTimeout> | undefined;
    for await (const { status } of connection.states()) {
      clearTimeout(late);
      const show = (): void => {
        byId("status").dataset["status"] = status;
        byId("status").textContent = TEXTS[status];
      };
      if (status === "ready" || status === "closed") show();
      else late = setTimeout(show, UNNOTICED_MS);
      if (status === "ready") this.showTransport(connection);
    }
    clearInterval(timer);
  }

  /** Resets the counting of cursors. The server numbers the cursors that it sends, so missing ones were lost. */
  visitBegan(): void {
    this.received = 0;
    this.first = undefined;
    this.expected = 0;
    byId("loss").textContent = "—";
    remark("datagrams", this.hasDatagrams ? "none received yet" : "a WebSocket has no datagrams");
  }

  cursorCame(count: number): void {
    if (!this.hasDatagrams) return;
    this.first ??= count;
    // Overtaken by the first cursor received.
    if (count < this.first) return;
    this.received++;
    this.expected = Math.max(this.expected, count + 1);
    const sent = this.expected - this.first;
    const lost = sent - this.received;
    byId("loss").textContent = `${((lost / sent) * 100).toFixed(1)} %`;
    remark("datagrams", `${lost} of ${sent}`);
  }

  private showTransport({ transport }: BrowserConnection): void {
    this.hasDatagrams = transport?.kind === "webtransport";
    byId("transport").textContent = this.hasDatagrams ? "WebTransport" : "WebSocket";
    remark("why", this.hasDatagrams ? "HTTP/3 over QUIC" : (transport?.reason ?? ""));
  }

  private async ping({ session }: BrowserConnection): Promise<void> {
    // If the session ends in the meantime, the state shows it.
    const rtt = await session?.ping().catch(() => undefined);
    if (rtt === undefined) return;
    this.rtts.push(rtt);
    if (this.rtts.length > SHOWN) this.rtts.shift();
    byId("rtt").textContent = `${rtt.toFixed(rtt < 10 ? 1 : 0)} ms`;
    byId<SVGElement>("rtts").firstElementChild?.setAttribute("points", curve(this.rtts));
  }

  private count(name: string, by: number): void {
    const count = (this.calls.get(name) ?? 0) + by;
    if (count === 0) this.calls.delete(name);
    else this.calls.set(name, count);
    const counts = [...this.calls];
    byId("calls").textContent = String(counts.reduce((sum, [, count]) => sum + count, 0));
    remark("methods", counts.map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(", "));
  }
}

/** Shows a text on one line, with the full text as its tooltip. */
function remark(id: string, text: string): void {
  const element = byId(id);
  element.textContent = text;
  element.title = text;
}

/** Returns the points of an SVG polyline, with the largest value at its top. */
function curve(values: readonly number[]): string {
  const step = WIDTH / Math.max(values.length - 1, 1);
  const scale = (HEIGHT - 4) / Math.max(...values);
  return values.map((value, at) => `${at * step},${HEIGHT - 2 - value * scale}`).join(" ");
}
