import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { devCertificate } from "./dev-certificate.js";

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof fs>();
  return {
    ...real,
    readFile: vi.fn<typeof fs.readFile>(real.readFile),
    writeFile: vi.fn<typeof fs.writeFile>(real.writeFile),
    mkdir: vi.fn<typeof fs.mkdir>(real.mkdir),
  };
});

const DAY = 24 * 3_600_000;
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "quicrpc-"));
});
afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

function at(ms: number): void {
  vi.useFakeTimers({ now: ms, toFake: ["Date"] });
}

function systemError(code: string, text: string): Error {
  return Object.assign(new Error(`${code}: ${text}`), { code });
}

describe("devCertificate", () => {
  it("has names and addresses of every form, and one key's signature", async () => {
    const addresses = ["10.0.0.1", "::1", "fe80::1:2", "::ffff:10.0.0.1", "2001:db8::", "1:2:3:4:5:6:7:8"];
    const { cert, key } = await devCertificate({ directory, hosts: ["app.example", ...addresses] });
    const certificate = new X509Certificate(cert);
    expect(addresses.filter((address) => certificate.checkIP(address) !== address)).toEqual([]);
    expect([certificate.checkHost("app.example"), certificate.checkIP("10.0.0.2")]).toEqual(["app.example", undefined]);
    expect(certificate.verify(certificate.publicKey) && certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
  });

  it("is made anew when the one that is kept is not valid yet, since the clock was put back", async () => {
    const now = Date.now();
    at(now + 5 * DAY);
    const early = await devCertificate({ directory });
    at(now);
    const made = await devCertificate({ directory });
    expect(made.cert).not.toBe(early.cert);
    expect((await devCertificate({ directory })).cert).toBe(made.cert);
    expect(await readdir(directory)).toHaveLength(1);
  });

  it("is made anew when the key that is kept is not its own, or none", async () => {
    const { cert } = await devCertificate({ directory });
    const { key } = await devCertificate({ directory, hosts: ["other.test"] });
    const [file = ""] = (await readdir(directory)).filter((name) => name.endsWith(".pem"));
    for (const wrong of [key, "-----BEGIN PRIVATE KEY-----\nbroken\n-----END PRIVATE KEY-----\n", ""]) {
      await Promise.all((await readdir(directory)).map((name) => writeFile(join(directory, name), cert + wrong)));
      const made = await devCertificate({ directory });
      expect(made.cert).not.toBe(cert);
    }
    expect(await readFile(join(directory, file), "utf8")).toContain("BEGIN");
  });

  it("is the same for all that replace an old one at the same time", async () => {
    const now = Date.now();
    await devCertificate({ directory });
    // The order of these file operations differs each time.
    for (let times = 1; times <= 20; times++) {
      at(now + times * 20 * DAY);
      const all = await Promise.all(Array.from({ length: 8 }, () => devCertificate({ directory })));
      const { cert } = await devCertificate({ directory });
      expect(new Set(all.map((one) => one.cert))).toEqual(new Set([cert]));
      expect(await readdir(directory)).toHaveLength(1);
    }
  });

  it("is the one that another has just put in the place of an old one", async () => {
    const now = Date.now();
    const { file } = await devCertificate({ directory });
    at(now + 20 * DAY);
    const other = await mkdtemp(join(tmpdir(), "quicrpc-"));
    const { cert, key } = await devCertificate({ directory: other });
    // A process that finds the old certificate finds the new one at its next attempt.
    const { readFile: real } = await vi.importActual<typeof fs>("node:fs/promises");
    for (let look = 1; look <= 3; look++) {
      await writeFile(file, "old");
      let looks = 0;
      vi.mocked(fs.readFile).mockImplementation((async (path: string, encoding: "utf8") => {
        const found = await real(path, encoding);
        if (path === file && ++looks === look) await writeFile(file, cert + key);
        return found;
      }) as typeof fs.readFile);
      const got = await devCertificate({ directory });
      vi.mocked(fs.readFile).mockImplementation(real);
      expect({ look, cert: got.cert }).toEqual({ look, cert: (await devCertificate({ directory })).cert });
      if (look < 3) expect(got.cert).toBe(cert);
    }
    await rm(other, { recursive: true });
  });

  it("says so where a link that leads nowhere is in its place", async () => {
    const { file } = await devCertificate({ directory });
    await rm(file);
    await symlink(join(directory, "nowhere"), file);
    await expect(devCertificate({ directory })).rejects.toThrow("cannot be read or replaced");
  });

  it.each(["", "relative/cache"])("is kept in the home folder where XDG_CACHE_HOME is %j", async (value) => {
    vi.stubEnv("XDG_CACHE_HOME", value);
    vi.stubEnv("LOCALAPPDATA", "");
    vi.stubEnv("HOME", directory);
    vi.stubEnv("USERPROFILE", directory);
    const { cert } = await devCertificate();
    const folder = process.platform === "darwin" ? join("Library", "Caches") : ".cache";
    const [file = ""] = await readdir(join(directory, folder, "quicrpc"));
    expect(await readFile(join(directory, folder, "quicrpc", file), "utf8")).toContain(cert);
  });

  it("leaves nothing on a disk that is full, and says what to do", async () => {
    vi.mocked(fs.writeFile).mockImplementationOnce(async (path) => {
      await writeFile(path, "-----BEGIN CERT");
      throw systemError("ENOSPC", "no space left on device, write");
    });
    await expect(devCertificate({ directory })).rejects.toThrow(
      `cannot store a development certificate in ${directory}: ENOSPC: no space left on device, write; set XDG_CACHE_HOME`,
    );
    expect(await readdir(directory)).toEqual([]);
    expect((await devCertificate({ directory })).cert).toContain("BEGIN CERTIFICATE");
  });

  it("says what to do where the home folder cannot be written to, and reads what is kept there", async () => {
    vi.mocked(fs.mkdir).mockRejectedValueOnce(systemError("EROFS", "read-only file system, mkdir"));
    const { message, cause } = (await devCertificate({ directory }).catch((error: unknown) => error)) as Error;
    expect(message).toMatch(/certificate in .*: EROFS: .*; set XDG_CACHE_HOME, or the option "directory"/);
    expect(cause).toMatchObject({ code: "EROFS" });
    const { cert } = await devCertificate({ directory });
    vi.mocked(fs.mkdir).mockRejectedValueOnce(systemError("EROFS", "read-only file system, mkdir"));
    expect((await devCertificate({ directory })).cert).toBe(cert);
    vi.mocked(fs.mkdir).mockReset();
  });
});
