import type { Color, Piece } from "../generated/whiteboard.js";

/** Size of the board in its own units. */
export const BOARD = { width: 1600, height: 1000 } as const;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** One line of a participant. */
export interface Line {
  readonly by: string;
  readonly line: number;
  readonly color: Color;
  readonly width: number;
  readonly points: Point[];
}

/** Maximum number of points of all lines; beyond it the oldest lines are dropped. */
const MOST_POINTS = 100_000;

/** Lines by participant and number, in the order in which they began. */
export class Lines {
  private readonly lines: Map<string, Line> = new Map();
  private points = 0;

  get size(): number {
    return this.lines.size;
  }

  all(): IterableIterator<Line> {
    return this.lines.values();
  }

  /** Adds points to a line, or begins it. Returns it, and the index of the first new point. */
  add(by: string, { line, color, width, points }: Piece): { line: Line; from: number } {
    const key = `${by}/${line}`;
    let found = this.lines.get(key);
    if (found === undefined) {
      found = { by, line, color, width, points: [] };
      this.lines.set(key, found);
    }
    const from = found.points.length;
    found.points.push(...points);
    this.points += points.length;
    for (const oldest of this.lines.values()) {
      if (this.points <= MOST_POINTS) break;
      this.erase(oldest.by, oldest.line);
    }
    return { line: found, from };
  }

  erase(by: string, line: number): void {
    const key = `${by}/${line}`;
    this.points -= this.lines.get(key)?.points.length ?? 0;
    this.lines.delete(key);
  }

  eraseLatest(by: string): void {
    const latest = [...this.lines.values()].findLast((line) => line.by === by);
    if (latest !== undefined) this.erase(by, latest.line);
  }
}
