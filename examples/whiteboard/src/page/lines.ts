import type { Color, Piece } from "../generated/whiteboard.js";

/** The board's own units. */
export const BOARD = { width: 1600, height: 1000 } as const;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** One line, by whoever draws it. */
export interface Line {
  readonly by: string;
  readonly line: number;
  readonly color: Color;
  readonly width: number;
  readonly points: Point[];
}

/** Lines by who draws them and their number, in the order they were begun. */
export class Lines {
  private readonly lines: Map<string, Line> = new Map();

  get size(): number {
    return this.lines.size;
  }

  all(): IterableIterator<Line> {
    return this.lines.values();
  }

  /** Adds to the line, or begins it. Returns it, and where the new points begin. */
  add(by: string, { line, color, width, points }: Piece): { line: Line; from: number } {
    const key = `${by}/${line}`;
    let found = this.lines.get(key);
    if (found === undefined) {
      found = { by, line, color, width, points: [] };
      this.lines.set(key, found);
    }
    const from = found.points.length;
    found.points.push(...points);
    return { line: found, from };
  }

  erase(by: string, line: number): void {
    this.lines.delete(`${by}/${line}`);
  }
}
