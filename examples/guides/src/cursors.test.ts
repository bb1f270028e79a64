import { readFile } from "node:fs/promises";
import { expect, it, vi } from "vitest";

it("a stream goes on after its server has died, and prints what the page says", async () => {
  const page = await readFile(new URL("../../../docs/durable.md", import.meta.url), "utf8");
  const [, printed] = /^### A complete example\n[^]*?```text\n([^]*?)```/m.exec(page) ?? [];
  const log = vi.spyOn(console, "log").mockReturnValue();
  await import("./cursors.js");
  expect(log.mock.calls.map(([line]) => `${line}\n`).join("")).toBe(printed);
  log.mockRestore();
});
