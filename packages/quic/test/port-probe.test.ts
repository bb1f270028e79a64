import { Socket } from "node:dgram";
import { expect, test, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { isPortClosed } from "../dist/port-probe.js";

test("an answer that comes while the process is busy counts, though its time is over then", async () => {
  const send = Reflect.get(Socket.prototype, "send") as (...given: unknown[]) => void;
  const busy = vi.spyOn(Socket.prototype, "send").mockImplementation(function (this: Socket, ...given: unknown[]) {
    Reflect.apply(send, this, given);
    for (const until = performance.now() + 200; performance.now() < until; );
  });
  expect(await isPortClosed("127.0.0.1", await freePort())).toBe(true);
  expect(busy).toHaveBeenCalledOnce();
  busy.mockRestore();
});
