// The check for advisories of the vendored crate, with a cargo that answers what a test wants.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const shipped = /^version = "(.+)"/m.exec(
  readFileSync(join(root, "packages/quic/native/vendor/quinn-proto/Cargo.toml"), "utf8"),
)?.[1];

/** Runs the check while cargo resolves quinn-proto to `resolved`. Returns its exit code, its output and the manifest that cargo got. */
function check(resolved: { version: string | undefined; source: string | null }): {
  code: number | null;
  output: string;
  manifest: string;
} {
  const folder = mkdtempSync(join(tmpdir(), "vendored-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const metadata = JSON.stringify({
    packages: [{ name: "quinn-proto", manifest_path: "/nowhere/Cargo.toml", ...resolved }],
  });
  writeFileSync(join(folder, "cargo"), `#!/bin/sh\ncp Cargo.toml "${folder}/manifest.toml"\necho '${metadata}'\n`);
  chmodSync(join(folder, "cargo"), 0o755);
  const ended = spawnSync(process.execPath, [join(root, "scripts/vendored.mjs"), "--advisories"], {
    encoding: "utf8",
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` },
  });
  const manifest = readFileSync(join(folder, "manifest.toml"), "utf8");
  return { code: ended.status, output: ended.stdout + ended.stderr, manifest };
}

describe.skipIf(process.platform === "win32")("the check for advisories of the vendored crate", () => {
  const REGISTRY = "registry+https://registry.example/index";

  it("has cargo resolve the vendored version, without the patch", () => {
    const { manifest } = check({ version: shipped, source: REGISTRY });
    expect(manifest).toContain(`quinn-proto = { version = "=${shipped}"`);
    expect(manifest).not.toContain("[patch");
  });

  it("fails if cargo resolves another version, or the vendored folder", () => {
    for (const resolved of [
      { version: "0.11.999", source: REGISTRY },
      { version: shipped, source: null },
    ]) {
      const { code, output } = check(resolved);
      expect(code).toBe(1);
      expect(output).toContain(`and not ${shipped} of the registry`);
    }
  });
});
