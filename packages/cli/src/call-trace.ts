import { randomUUID } from "node:crypto";
import { type Metadata, sanitizeForLog, type Session } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type CallTimings, type ConnectionStats, sessionStats } from "@quicrpc/core/measure";
import { type BatchStep, type CallPart, type CallPartName, callParts, type ServedTimings } from "@quicrpc/services";
import { colorsFor } from "./report.js";
import { jsonText } from "./target.js";

/** One bar of the chart of a call's timings. Times are in milliseconds since the start of the call. */
export interface Bar {
  readonly name: string;
  readonly from: number;
  /** Duration in milliseconds, or undefined if it is not known. */
  readonly ms: number | undefined;
  /** Text after the duration. */
  readonly note?: string | undefined;
}

/** Length of the longest bar, in characters. */
const WIDTH = 40;
/** Milliseconds to wait for the server's timings of a call, and for its answer to a ping. */
const ASK_MS = 1000;

/** Prints details of a call on stderr: metadata when it arrives, and at the end how long each part of the call took. */
export class CallTrace {
  /** Name under which the server stores the timings of the call. Undefined if the server stores none. */
  readonly callName: string | undefined;
  private readonly session: Session;
  private readonly url: string;
  private readonly timingsOf: AnyMethod | undefined;
  private readonly json: boolean;
  private readonly attempts: CallTimings[] = [];
  /** Steps of the call, if it is a batch. */
  private batch: readonly BatchStep[] | undefined = undefined;
  private readonly received: Record<string, [string, string][]> = {};
  private readonly colors = colorsFor(process.stderr, process.env);

  /** @param timingsOf method of the server that returns the timings of a call, or undefined if it has none */
  constructor(url: string, session: Session, timingsOf: AnyMethod | undefined, json: boolean) {
    this.url = url;
    this.session = session;
    this.timingsOf = timingsOf;
    this.callName = timingsOf && randomUUID();
    this.json = json;
    if (!json) this.line(this.colors.dim(`calls ${sanitizeForLog(url)}`));
  }

  note(kind: "metadata" | "trailers", fields: Metadata): void {
    const entries = Array.from(fields, ([key, value]): [string, string] => [
      key,
      typeof value === "string" ? value : Buffer.from(value).toString("base64"),
    ]);
    this.received[kind] = entries;
    if (this.json) return;
    for (const [key, value] of entries) this.line(this.colors.dim(`${kind} ${sanitizeForLog(`${key}: ${value}`)}`));
  }

  timings(timings: CallTimings): void {
    this.attempts.push(timings);
  }

  steps(steps: readonly BatchStep[]): void {
    this.batch = steps;
  }

  /** Requests the timings from the server and prints all of them. Never rejects. */
  async end(): Promise<void> {
    const serverTimings = await this.fetchServerTimings();
    const stats = await this.stats();
    const { attempts, batch, received, json, url } = this;
    if (json) {
      process.stderr.write(
        `${jsonText({ url, attempts, served: serverTimings, batch, network: stats, ...received })}\n`,
      );
      return;
    }
    attempts.forEach((timings, index) => {
      const isLast = index === attempts.length - 1;
      if (attempts.length > 1) this.line(this.colors.dim(`attempt ${index + 1}`));
      // The server knows the last call of a name.
      const bars = barsOf(callParts(timings, stats.rttMs, isLast ? serverTimings : undefined), timings.uploadBytes);
      for (const text of waterfall(bars, timings.totalMs)) this.line(text);
    });
    if (batch !== undefined) {
      this.line(this.colors.dim("steps of the batch, at the server"));
      for (const text of stepsText(batch)) this.line(text);
    }
    this.line(this.colors.dim(networkText(stats)));
  }

  private async fetchServerTimings(): Promise<Partial<ServedTimings> | undefined> {
    if (this.timingsOf === undefined) return undefined;
    try {
      const { session, callName: name } = this;
      return (await session.start(
        this.timingsOf as AnyMethod<"unary">,
        { name },
        { timeoutMs: ASK_MS },
      )) as Partial<ServedTimings>;
    } catch {
      // It has not measured this call.
      return undefined;
    }
  }

  private async stats(): Promise<ConnectionStats> {
    const { session } = this;
    const known = await sessionStats(session);
    if (known.rttMs !== undefined || !session.takesCalls) return known;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), ASK_MS);
    });
    const rttMs = await Promise.race([session.ping().catch(() => undefined), timeout]);
    clearTimeout(timer);
    return { ...known, rttMs };
  }

  private line(text: string): void {
    process.stderr.write(`${text}\n`);
  }
}

const LABELS: Readonly<Record<CallPartName, string>> = {
  wait: "waiting for its turn",
  upload: "blobs",
  encode: "encoding",
  between: "queues and systems between",
  wireThere: "wire, there",
  server: "server",
  wireAndServer: "wire and server",
  validation: "server: validation",
  turn: "server: its turn",
  handler: "server: handler",
  wireBack: "wire, back",
  decode: "decoding",
  items: "items",
};

function barsOf(parts: readonly CallPart[], uploadBytes: number | undefined): Bar[] {
  return parts.map(({ name, fromMs, ms }) => {
    const label = LABELS[name];
    return { name: name === "upload" ? `${uploadBytes} bytes of ${label}` : label, from: fromMs, ms };
  });
}

/** Draws a bar for each step of a batch, with its index, its method, the steps that it needs, and its result. */
export function stepsText(steps: readonly BatchStep[]): string[] {
  const bars = steps.map(({ method, needs, elements, fromMs = 0, ms, result }, index): Bar => {
    const times = elements === undefined ? "" : ` × ${elements}`;
    const after = needs.length === 0 ? "" : ` after ${needs.join(", ")}`;
    return {
      name: sanitizeForLog(`${index} ${method}${times}${after}`),
      from: fromMs,
      ms,
      note: result && sanitizeForLog(result),
    };
  });
  const ends = bars.flatMap(({ from, ms }) => (ms === undefined ? [] : [from + ms]));
  return waterfall(bars, ends.length === 0 ? undefined : Math.max(...ends));
}

export function waterfall(bars: readonly Bar[], totalMs: number | undefined): string[] {
  const scale = totalMs !== undefined && totalMs > 0 ? WIDTH / totalMs : 0;
  const width = Math.max("total".length, ...bars.map(({ name }) => name.length));
  const line = (name: string, track: string, ms: number | undefined, note = ""): string =>
    `  ${name.padEnd(width)}  ${track.padEnd(WIDTH)}  ${(ms === undefined ? "unknown" : `${ms.toFixed(3)} ms`.padStart(12)).padEnd(12)}  ${note}`.trimEnd();
  const drawn = bars.map(({ name, from, ms, note }) => {
    if (ms === undefined) return line(name, "", ms, note);
    const start = Math.min(WIDTH - 1, Math.floor(from * scale));
    const length = Math.max(1, Math.min(WIDTH - start, Math.round(ms * scale)));
    return line(name, `${" ".repeat(start)}${"█".repeat(length)}`, ms, note);
  });
  return [...drawn, line("total", "", totalMs)];
}

function networkText({ rttMs, lostPackets, sentPackets }: ConnectionStats): string {
  const parts = [
    rttMs === undefined ? "round trip unknown" : `round trip ${rttMs.toFixed(3)} ms`,
    ...(sentPackets === undefined ? [] : [`${lostPackets ?? 0} of ${sentPackets} packets lost`]),
  ];
  return `network: ${parts.join(", ")}`;
}
