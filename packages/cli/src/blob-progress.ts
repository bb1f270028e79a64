import { sanitizeForLog } from "@quicrpc/core";

/** Milliseconds between two updates of the progress display. */
const EVERY_MS = 100;
const UNITS = ["B", "kB", "MB", "GB", "TB"];

interface TerminalOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows the progress of blob transfers on one line of a terminal. Prints nothing if the output is not a terminal. */
export class BlobProgress {
  private readonly out: TerminalOutput;
  private readonly now: () => number;
  private readonly startTimes = new Map<string, number>();
  private shownAt = -Infinity;
  private line = "";

  constructor(out: TerminalOutput, now: () => number = () => performance.now()) {
    this.out = out;
    this.now = now;
  }

  /** Reports the number of bytes of a blob transferred so far, and its length in bytes if that is known. */
  moved(name: string, bytes: number, length: number | undefined): void {
    if (this.out.isTTY !== true) return;
    const now = this.now();
    const startedAt = this.startTimes.get(name) ?? now;
    this.startTimes.set(name, startedAt);
    const isLast = bytes === length;
    if (!isLast && now - this.shownAt < EVERY_MS) return;
    this.shownAt = now;
    const total = length === undefined ? "" : ` of ${sizeOf(length)}, ${Math.floor((bytes / (length || 1)) * 100)}%`;
    const rate = now > startedAt ? `, ${sizeOf((bytes / (now - startedAt)) * 1000)}/s` : "";
    this.show(`${sanitizeForLog(name)}: ${sizeOf(bytes)}${total}${rate}`);
  }

  end(): void {
    if (this.line !== "") this.out.write("\n");
    this.line = "";
    this.startTimes.clear();
    this.shownAt = -Infinity;
  }

  private show(line: string): void {
    this.out.write(`\r${line.padEnd(this.line.length)}`);
    this.line = line;
  }
}

/** Formats a number of bytes for people, for example with the unit MB. */
export function sizeOf(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
