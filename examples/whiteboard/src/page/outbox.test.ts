import { describe, expect, it } from "vitest";
import type { BoardCommand, Piece } from "../generated/whiteboard.js";
import { Outbox } from "./outbox.js";

const piece = (line: number, ...xs: number[]): Piece => ({
  line,
  color: "ink",
  width: 1,
  points: xs.map((x) => ({ x, y: 0 })),
});
const draw = (line: number, ...xs: number[]): BoardCommand => ({ type: "draw", piece: piece(line, ...xs) });

/** Takes so many commands, then fails. */
function taking(count: number): { written: BoardCommand[]; writer: WritableStreamDefaultWriter<BoardCommand> } {
  const written: BoardCommand[] = [];
  const stream = new WritableStream<BoardCommand>({
    write(command) {
      if (written.length === count) throw new Error("the stream is gone");
      written.push(command);
    },
  });
  return { written, writer: stream.getWriter() };
}

describe("an outbox", () => {
  it("sends the points of a line together that were drawn meanwhile, and keeps the order", async () => {
    const outbox = new Outbox();
    for (const command of [draw(0, 1), draw(0, 2, 3), { type: "undo" } as const, draw(0, 4), draw(1, 5)]) {
      outbox.add(command);
    }
    const { written, writer } = taking(4);
    const sending = outbox.sendTo(writer, new AbortController().signal);
    outbox.add({ type: "clear" });
    await expect(sending).rejects.toThrow("gone");
    expect(written).toEqual([draw(0, 1, 2, 3), { type: "undo" }, draw(0, 4), draw(1, 5)]);
  });

  it("keeps what could not be written for the next stream", async () => {
    const outbox = new Outbox();
    outbox.add(draw(0, 1));
    outbox.add(draw(1, 2));
    await expect(outbox.sendTo(taking(1).writer, new AbortController().signal)).rejects.toThrow("gone");
    expect(outbox.pieces()).toEqual([piece(1, 2)]);
  });

  it("ends when its signal fires, though nothing is to be sent", async () => {
    const leaving = new AbortController();
    const sending = new Outbox().sendTo(taking(0).writer, leaving.signal);
    leaving.abort();
    await expect(sending).resolves.toBeUndefined();
  });

  it("splits lines into pieces that the service takes", () => {
    const outbox = new Outbox();
    outbox.replace([piece(3, ...Array.from({ length: 600 }, (_, x) => x))]);
    expect(outbox.pieces().map(({ line, points }) => [line, points.length, points[0]?.x])).toEqual([
      [3, 256, 0],
      [3, 256, 256],
      [3, 88, 512],
    ]);
  });
});
