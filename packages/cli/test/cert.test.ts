import { spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { change, nssStore, storesOf } from "../src/cert/stores.js";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const AUTHORITY = { file: "/cache/authority.crt", name: "quicrpc development of ada" };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "quicrpc-cert-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

function quicrpc(...args: string[]) {
  return spawnSync(process.execPath, [main, "cert", ...args, "--directory", directory], {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
}

describe("quicrpc cert", () => {
  it("shows the certificate, its hash alone, and makes another one", () => {
    const { status, stdout } = quicrpc("--json");
    expect(status).toBe(0);
    const shown = JSON.parse(stdout) as { hash: string; file: string };
    expect(shown).toMatchObject({ subject: "quicrpc development", issuer: "itself", daysLeft: 13 });
    expect(quicrpc("--hash").stdout).toBe(`${shown.hash}\n`);
    expect(quicrpc("hash").stdout).toBe(`${shown.hash}\n`);
    for (const args of [[], ["show"]]) expect(quicrpc(...args).stdout).toContain(`sha-256     ${shown.hash}\n`);
    const { hash } = JSON.parse(quicrpc("rotate", "--json").stdout) as { hash: string };
    expect(hash).not.toBe(shown.hash);
    expect(quicrpc("--hash").stdout).toBe(`${hash}\n`);
  });

  it("says what would be run, and has the certificate signed", () => {
    const { status, stdout } = quicrpc("trust", "--dry-run", "--json", "--nss", join(directory, "profile"));
    expect(status).toBe(0);
    const { authority, certificate, stores } = JSON.parse(stdout) as Record<
      "authority" | "certificate" | "stores",
      { name: string }
    >;
    expect(stores).toMatchObject([
      { outcome: "shown", command: expect.stringMatching(/^certutil -A -d sql:.*profile/) },
    ]);
    expect(authority).not.toHaveProperty("key");
    expect(certificate).toMatchObject({ issuer: authority.name });
    expect(readFileSync(join(directory, "authority.crt"), "utf8")).not.toContain("PRIVATE KEY");
  });

  it("makes no authority to have it no longer trusted, and names the one there is whatever the hosts", () => {
    const profile = ["--dry-run", "--nss", join(directory, "profile")];
    expect(quicrpc("untrust", ...profile)).toMatchObject({
      status: 0,
      stdout: "There is no development authority to remove.\n",
    });
    const { stdout } = quicrpc("untrust", "--json");
    expect(JSON.parse(stdout)).toEqual({ authority: null, stores: [] });
    expect(readdirSync(directory)).toEqual([]);
    expect(quicrpc("trust", ...profile).status).toBe(0);
    const authority = readFileSync(join(directory, "authority.crt"), "utf8");
    expect(quicrpc("untrust", "--host", "other.example", ...profile).stdout).toMatch(/^certutil -D -d sql:.*profile/);
    expect(readFileSync(join(directory, "authority.crt"), "utf8")).toBe(authority);
  });

  it("refuses options that it does not know", () => {
    expect(quicrpc("trust", "--nonsense").status).toBe(2);
    expect(quicrpc("rotat")).toMatchObject({ status: 2, stderr: expect.stringContaining("(Did you mean rotate?)") });
  });
});

describe("stores of browsers", () => {
  const commands = (platform: NodeJS.Platform): string[] =>
    storesOf(platform, directory).map((store) => change(store, "add", AUTHORITY, true).command);

  it("are those of NSS on Linux: of Chromium, and of each profile of Firefox that has one", () => {
    const profile = join(directory, ".mozilla/firefox/x.default");
    mkdirSync(profile, { recursive: true });
    mkdirSync(join(directory, ".mozilla/firefox/Crash Reports"));
    writeFileSync(join(profile, "cert9.db"), "");
    const adding = (folder: string): string =>
      `certutil -A -d sql:${folder} -t "C,," -n "${AUTHORITY.name}" -i ${AUTHORITY.file}`;
    expect(commands("linux")).toEqual([adding(join(directory, ".pki/nssdb")), adding(profile)]);
  });

  it("are the system's on macOS and Windows", () => {
    expect(commands("darwin")).toEqual([expect.stringMatching(/^security add-trusted-cert -r trustRoot -k /)]);
    expect(commands("win32")).toEqual([`certutil -user -addstore Root ${AUTHORITY.file}`]);
  });

  it("have an outcome where the tool is missing or fails", () => {
    const store = { ...nssStore(join(directory, "new")), make: undefined };
    expect(change({ ...store, tool: join(directory, "none") }, "add", AUTHORITY, false).outcome).toBe("no tool");
    const failing = { ...store, tool: process.execPath, add: () => ["-e", "console.error('no'); process.exit(3)"] };
    expect(change(failing, "add", AUTHORITY, false)).toMatchObject({ outcome: "failed", detail: "no" });
  });
});
