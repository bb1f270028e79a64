import { expect, it } from "vitest";
import { DurableStream, type Pipe } from "./durable-stream.js";
import type { PieceFields } from "./pieces.js";

it("a direction that was abandoned while nothing carried it says so, whatever the peer has received of it", () => {
  const stream = new DurableStream(undefined, () => {});
  stream.write(new Uint8Array(100));
  stream.reset(7);
  expect(stream.canSendFrom(40)).toBe(true);
  const said: PieceFields[] = [];
  const flow: Pipe["flow"] = { ready: true, wait() {} };
  stream.carriedBy({ flow, idle: true, send: (fields) => void said.push({ ...fields }), flush() {} }, 40, true);
  expect(said).toEqual([{ acknowledged: 0, end: false, reset: 7, stop: undefined }]);
  expect(stream.settled).toBe(true);
  expect(stream.retained).toBe(0);
});
