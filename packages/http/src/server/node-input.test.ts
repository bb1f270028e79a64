import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { endOfTurn, NodeAnswerBody } from "./node-input.js";

const MOST = 262_144;

/** An answer whose socket takes what was written when the test says so. */
class SlowAnswer extends EventEmitter {
  readonly written: Uint8Array[] = [];
  writableFinished = false;

  write(bytes: Uint8Array): boolean {
    this.written.push(bytes);
    return false;
  }

  end(): void {
    this.writableFinished = true;
  }

  async take(): Promise<void> {
    this.emit("drain");
    await endOfTurn();
  }

  get lengths(): number[] {
    return this.written.map(({ length }) => length);
  }
}

it("over TLS a large answer is written in pieces, each when the socket has taken the one before", async () => {
  const answer = new SlowAnswer();
  let ended = 0;
  const body = new NodeAnswerBody(answer, false, true, () => ended++);
  const bytes = Uint8Array.from({ length: 2 * MOST + 3 }, (_, at) => at % 251);
  body.write(bytes);
  body.end();
  await endOfTurn();
  expect([answer.lengths, body.ready, answer.writableFinished]).toEqual([[MOST], false, false]);
  await answer.take();
  expect([answer.lengths, ended]).toEqual([[MOST, MOST], 0]);
  await answer.take();
  expect([answer.lengths, answer.writableFinished, ended]).toEqual([[MOST, MOST, 3], true, 1]);
  expect(Buffer.concat(answer.written).equals(bytes)).toBe(true);
});

it("over TLS items that are written while the socket is full follow in order, and then it is ready again", async () => {
  const answer = new SlowAnswer();
  const body = new NodeAnswerBody(answer, false, true, () => {});
  let resumed = 0;
  body.write(new Uint8Array(MOST + 1).fill(1));
  body.write(new Uint8Array(2).fill(2));
  body.whenReady(() => resumed++);
  await answer.take();
  expect([answer.lengths, resumed]).toEqual([[MOST, 3], 0]);
  expect(answer.written[1]).toEqual(Uint8Array.of(1, 2, 2));
  await answer.take();
  expect(resumed).toBe(1);
});

it("over TLS nothing more is written once the client is gone", async () => {
  const answer = new SlowAnswer();
  const body = new NodeAnswerBody(answer, false, true, () => {});
  body.write(new Uint8Array(3 * MOST));
  body.end();
  answer.emit("close");
  await answer.take();
  expect([answer.lengths, answer.writableFinished]).toEqual([[MOST], false]);
});

it("without TLS an answer is written at once", () => {
  const answer = new SlowAnswer();
  const body = new NodeAnswerBody(answer, false, false, () => {});
  body.write(new Uint8Array(3 * MOST));
  body.end();
  expect([answer.lengths, answer.writableFinished]).toEqual([[3 * MOST], true]);
});
