import { expect, it } from "vitest";
import type { Piece } from "../generated/whiteboard.js";
import { Lines } from "./lines.js";

const piece = (line: number, points: number): Piece => ({
  line,
  color: "ink",
  width: 1,
  points: Array.from({ length: points }, (_, x) => ({ x, y: 0 })),
});

it("pieces become lines, in the order in which these were begun", () => {
  const lines = new Lines();
  lines.add("a", piece(1, 2));
  lines.add("b", piece(1, 1));
  expect(lines.add("a", piece(1, 3)).from).toBe(2);
  expect([...lines.all()].map(({ by, points }) => [by, points.length])).toEqual([
    ["a", 5],
    ["b", 1],
  ]);
  lines.add("a", piece(2, 1));
  lines.eraseLatest("a");
  lines.eraseLatest("c");
  expect([...lines.all()].map(({ by, line }) => [by, line])).toEqual([
    ["a", 1],
    ["b", 1],
  ]);
});

it("a bounded number of points is kept, by letting whole lines go, the oldest first", () => {
  const lines = new Lines();
  for (let line = 0; line < 500; line++) lines.add("a", piece(line, 256));
  const kept = [...lines.all()].map(({ line }) => line);
  expect(kept.length).toBe(Math.floor(100_000 / 256));
  expect(kept.at(-1)).toBe(499);
});
