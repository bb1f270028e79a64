import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const packageRoot = fileURLToPath(new URL("..", import.meta.url));
/** The name of the engine here. Without one there are no names to expect. */
const prebuilt = existsSync(join(packageRoot, "prebuilds"))
  ? (readdirSync(join(packageRoot, "prebuilds")).find((name) => name.endsWith(".node")) as string)
  : "";
const platform = prebuilt.replace(/\.node$/, "");
let copy: string;

/** The error of binding with a copy of the package whose engine is `engine`. */
function bindWith(engine: string | undefined): { code: string; message: string } {
  if (engine !== undefined) {
    mkdirSync(join(copy, "prebuilds"));
    writeFileSync(join(copy, "prebuilds", prebuilt), engine);
  }
  const program = `
    import { Endpoint } from ${JSON.stringify(join(copy, "dist/index.js"))};
    try { Endpoint.bind(); } catch ({ code, message }) { console.log(JSON.stringify({ code, message })); }`;
  return JSON.parse(spawnSync(process.execPath, ["--input-type=module", "-e", program]).stdout.toString());
}

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "quicrpc-"));
  cpSync(join(packageRoot, "dist"), join(copy, "dist"), { recursive: true });
  writeFileSync(join(copy, "package.json"), '{ "type": "module" }');
});
afterEach(() => rmSync(copy, { recursive: true }));

test.skipIf(prebuilt === "")("without an engine for this platform one error names it and the way out", () => {
  const { code, message } = bindWith(undefined);
  expect(code).toBe("ERR_QUIC_NATIVE_MISSING");
  expect(message).toContain(`not available on ${platform}: there is no prebuilt engine for it`);
  expect(message).toContain('Build it with "npm run build:native"');
});

test.skipIf(prebuilt === "")("an engine that cannot be loaded is named with the reason", () => {
  const { code, message } = bindWith("no library");
  expect(code).toBe("ERR_QUIC_NATIVE_MISSING");
  expect(message).toContain(`not available on ${platform}: the engine could not be loaded`);
});
