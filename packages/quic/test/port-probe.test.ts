import { Socket } from "node:dgram";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { isPortClosed } from "../dist/port-probe.js";

test("an answer that comes while the process is busy counts, though its time is over then", async () => {
  const { send } = Socket.prototype;
  onTestFinished(() => void (Socket.prototype.send = send));
  Socket.prototype.send = function (this: Socket, ...given: never) {
    Reflect.apply(send, this, given);
    for (const until = performance.now() + 200; performance.now() < until; );
  };
  expect(await isPortClosed("127.0.0.1", await freePort())).toBe(true);
});
