import { setFlagsFromString } from "node:v8";
import { afterEach, describe, expect, it, vi } from "vitest";
import { optimizeLater } from "./process-lifetime.js";

vi.mock("node:v8", () => ({ setFlagsFromString: vi.fn<(flags: string) => void>() }));
const { versions } = process;
afterEach(() => void Object.defineProperty(process, "versions", { value: versions }));

describe("optimizeLater", () => {
  it.each([
    ["11.3.244.8-node.33", 1],
    ["12.4.254.21-node.57", 0],
    ["14.6.202.34-node.20", 0],
  ])("of V8 %s sets a flag that it knows, or none", (v8, times) => {
    vi.mocked(setFlagsFromString).mockClear();
    Object.defineProperty(process, "versions", { value: { ...versions, v8 } });
    optimizeLater();
    expect(setFlagsFromString).toHaveBeenCalledTimes(times);
  });
});
