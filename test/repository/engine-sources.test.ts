// The sources of the engine's patched crate, and the check for advisories, with the real cargo and with one that notes its arguments.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const shipped = /^quinn-proto = \{ version = "(.+)", checksum = "(.+)" \}$/m.exec(
  readFileSync(join(root, "packages/quic/native/Cargo.toml"), "utf8"),
);

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "engine-sources-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function run(script: string, env: NodeJS.ProcessEnv = {}): { code: number | null; output: string } {
  const ended = spawnSync(process.execPath, [script], { encoding: "utf8", env: { ...process.env, ...env } });
  return { code: ended.status, output: ended.stdout + ended.stderr };
}

describe.skipIf(process.platform === "win32")("the check for advisories of the patched crate", () => {
  it("holds cargo-deny to the published crate in the version and with the checksum that ships", () => {
    const folder = temporary();
    const script = `#!/bin/sh\necho "$@"\ncat "$(dirname "$4")/Cargo.toml" "$(dirname "$4")/Cargo.lock"\n`;
    writeFileSync(join(folder, "cargo"), script);
    chmodSync(join(folder, "cargo"), 0o755);
    const { code, output } = run(join(root, "scripts/advisories.mjs"), {
      PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}`,
    });
    expect(code).toBe(0);
    expect(output).toMatch(/^deny --locked --manifest-path .*Cargo\.toml .*check advisories$/m);
    expect(output).not.toContain("[patch");
    const [, version, checksum] = shipped ?? [];
    expect(output).toMatch(
      new RegExp(`name = "quinn-proto"\nversion = "${version}"\nsource = "registry.*"\nchecksum = "${checksum}"`),
    );
  });
});

describe.skipIf(spawnSync("cargo", ["--version"]).error !== undefined)("the sources of the patched crate", () => {
  /** Copies what `engine-sources.mjs` reads, with changed files. Returns the script's path. */
  function copy(change: (native: string) => void): string {
    const folder = temporary();
    cpSync(join(root, "packages/quic/scripts"), join(folder, "scripts"), { recursive: true });
    for (const part of ["Cargo.toml", "Cargo.lock", "patches"]) {
      cpSync(join(root, "packages/quic/native", part), join(folder, "native", part), { recursive: true });
    }
    change(join(folder, "native"));
    return join(folder, "scripts/engine-sources.mjs");
  }

  function edit(file: string, from: string | RegExp, to: string): void {
    writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
  }

  it("are not written from another version, another checksum, or with a patch that does not apply exactly", () => {
    const version = copy((native) =>
      edit(join(native, "Cargo.lock"), `version = "${shipped?.[1]}"`, 'version = "0.11.1"'),
    );
    expect(run(version)).toMatchObject({ code: 1, output: expect.stringContaining("Cargo.lock has another version") });
    const checksum = copy((native) => edit(join(native, "Cargo.toml"), /checksum = "..../, 'checksum = "0000'));
    expect(run(checksum)).toMatchObject({
      code: 1,
      output: expect.stringContaining("cargo could not get quinn-proto"),
    });
    const patch = copy((native) => edit(join(native, "patches/6-keep-alive.patch"), "fn reset_keep_alive", "fn other"));
    expect(run(patch)).toMatchObject({ code: 1, output: expect.stringContaining("does not apply to quinn-proto") });
  });
});
