import type { CallTimings } from "@quicrpc/core/measure";
import { type BatchStep, type CallPartName, callParts, type ServedTimings } from "@quicrpc/services";

/** A bar of a chart. Times are in milliseconds since the start of the chart. */
export interface Bar {
  readonly label: string;
  /** CSS class of the bar. */
  readonly kind: string;
  readonly fromMs: number;
  /** Duration, or undefined if it is not known. */
  readonly ms: number | undefined;
  /** Text below the label: "ok" or an error. */
  readonly result?: string | undefined;
}

/** Label of each part of a call, and the CSS class of its bar. */
const PARTS: Readonly<Record<CallPartName, readonly [label: string, kind: string]>> = {
  wait: ["Waiting for a session", "wait"],
  upload: ["Files", "wire"],
  encode: ["Encoding", "own"],
  between: ["Queues and systems between", "wait"],
  wireThere: ["Wire, there (half the round trip)", "wire"],
  server: ["Server", "server"],
  wireAndServer: ["Wire and server", "server"],
  validation: ["Server: validation", "own"],
  turn: ["Server: its turn", "wait"],
  handler: ["Server: handler", "server"],
  wireBack: ["Wire, back", "wire"],
  decode: ["Decoding", "own"],
  items: ["Messages", "messages"],
};

/** Returns a bar for each part of a call, in order. */
export function callBars(
  timings: Partial<CallTimings>,
  rttMs: number | undefined,
  served: Partial<ServedTimings> | undefined,
): Bar[] {
  return callParts(timings, rttMs, served).map(({ name, fromMs, ms }) => {
    const [label, kind] = PARTS[name];
    return { label: name === "upload" ? `${label}, ${timings.uploadBytes} bytes` : label, kind, fromMs, ms };
  });
}

/** Returns a bar for each step of a batch, whose label has its index, its method and the steps that it needs. */
export function batchBars(steps: readonly BatchStep[]): Bar[] {
  return steps.map(({ method, needs, elements, fromMs = 0, ms, result }, index) => {
    const times = elements === undefined ? "" : ` × ${elements}`;
    const after = needs.length === 0 ? "" : `, after ${needs.join(", ")}`;
    return { label: `${index} ${method}${times}${after}`, kind: "server", fromMs, ms, result };
  });
}

/** Returns the time at which the last bar ends. Undefined if no duration is known. */
export function endOf(bars: readonly Bar[]): number | undefined {
  const ends = bars.flatMap(({ fromMs, ms }) => (ms === undefined ? [] : [fromMs + ms]));
  return ends.length === 0 ? undefined : Math.max(...ends);
}

export function msText(ms: number | undefined): string {
  return ms === undefined ? "unknown" : `${ms.toFixed(2)} ms`;
}
