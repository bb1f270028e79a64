import { afterEach, expect, it, vi } from "vitest";
import { Observed } from "./observed.js";

class Value extends Observed {
  set(): void {
    this.changed();
  }
}

/** Animation frames that the test has not run yet. */
let frames: (() => void)[] = [];
vi.stubGlobal("requestAnimationFrame", (draw: () => void) => frames.push(draw));
const draw = (): void => {
  for (const frame of frames.splice(0)) frame();
};
afterEach(() => {
  frames = [];
});

it("whoever drew it is told of what changed before it listened", () => {
  const value = new Value();
  const drawn = value.version;
  value.set();
  draw();
  const told = vi.fn<() => void>();
  value.subscribe(told, drawn);
  expect(told).toHaveBeenCalledTimes(1);
});

it("whoever drew all of it is told of the next change, until it listens no more", () => {
  const value = new Value();
  const told = vi.fn<() => void>();
  const stop = value.subscribe(told);
  draw();
  expect(told).not.toHaveBeenCalled();
  value.set();
  draw();
  expect(told).toHaveBeenCalledTimes(1);
  stop();
  value.set();
  draw();
  expect(told).toHaveBeenCalledTimes(1);
});
