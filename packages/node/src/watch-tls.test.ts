import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { certificate, type TestCertificate } from "../../quic/test/certificates.js";
import type { TlsUpdate } from "./listen/listener.js";
import { CertificateWatch, watchTls } from "./watch-tls.js";

let directory: string;
let files: { cert: string; key: string };
let updates: TlsUpdate[];
let errors: Error[];
let watch: CertificateWatch;

const server = {
  updateTls: (update: TlsUpdate): void => {
    for (const { cert, key } of [update.tls ?? []].flat()) {
      const fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(String(key)));
      if (!fits) throw new Error("key values mismatch");
    }
    updates.push(update);
  },
};

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "quicrpc-tls-"));
  files = { cert: join(directory, "tls.crt"), key: join(directory, "tls.key") };
  updates = [];
  errors = [];
  watch = new CertificateWatch(server, [files], { onError: (error) => void errors.push(error) });
});
afterEach(() => rm(directory, { recursive: true }));

async function write({ cert, key }: TestCertificate): Promise<void> {
  await Promise.all([writeFile(files.cert, cert), writeFile(files.key, key)]);
}

const taken = ({ cert, key }: TestCertificate): TlsUpdate => ({ tls: [{ cert, key }] });

describe("CertificateWatch", () => {
  it("gives the server what is there, and then each change once", async () => {
    const [first, second] = [await certificate(), await certificate()];
    await write(first);
    await watch.check();
    await watch.check();
    await write(second);
    await watch.check();
    await watch.check();
    expect(updates).toEqual([taken(first), taken(second)]);
    expect(errors).toEqual([]);
  });

  it("sees a symbolic link that changes its target, as Kubernetes swaps secrets", async () => {
    const [first, second] = [await certificate(), await certificate()];
    const put = async (version: string, { cert, key }: TestCertificate): Promise<void> => {
      await mkdir(join(directory, version));
      await writeFile(join(directory, version, "tls.crt"), cert);
      await writeFile(join(directory, version, "tls.key"), key);
      await symlink(version, join(directory, "..data_tmp"));
      await rename(join(directory, "..data_tmp"), join(directory, "..data"));
    };
    await put("..2026_01", first);
    for (const name of ["tls.crt", "tls.key"]) await symlink(join("..data", name), join(directory, name));
    await watch.check();
    await put("..2026_02", second);
    await rm(join(directory, "..2026_01"), { recursive: true });
    await watch.check();
    expect(updates).toEqual([taken(first), taken(second)]);
  });

  it("waits for the key that belongs to a new certificate, and says nothing meanwhile", async () => {
    const [first, second] = [await certificate(), await certificate()];
    await write(first);
    await watch.check();
    await writeFile(files.cert, second.cert);
    await watch.check();
    await writeFile(files.key, second.key);
    await watch.check();
    expect(updates).toEqual([taken(first), taken(second)]);
    expect(errors).toEqual([]);
  });

  it("tells once of what stays broken, and takes the next that is not", async () => {
    const good = await certificate();
    await write(good);
    await writeFile(files.cert, "no certificate");
    for (let looks = 0; looks < 4; looks++) await watch.check();
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain(files.cert);
    expect(errors[0]?.message).toContain("the server keeps its current ones");
    await rm(files.key);
    for (let looks = 0; looks < 4; looks++) await watch.check();
    expect(errors).toHaveLength(2);
    expect(errors[1]?.message).toContain("ENOENT");
    await write(good);
    await watch.check();
    expect(updates).toEqual([taken(good)]);
  });

  it("goes on where its hooks throw, which says nothing of the certificates", async () => {
    const shown = vi.spyOn(console, "error").mockImplementation(() => {});
    const fail = (): never => {
      throw new Error("the hook failed");
    };
    const failing = new CertificateWatch(server, [files], { onUpdate: fail, onError: fail });
    for (let looks = 0; looks < 3; looks++) await failing.check();
    expect(shown).toHaveBeenCalledTimes(1);
    const good = await certificate();
    await write(good);
    for (let looks = 0; looks < 3; looks++) await failing.check();
    expect(updates).toEqual([taken(good)]);
    expect(shown).toHaveBeenCalledTimes(2);
    shown.mockRestore();
  });

  it("takes none that has expired, and one that is not yet valid when it is", async () => {
    const day = 24 * 3_600_000;
    await write(await certificate({ from: Date.now() - 20 * day, days: 10 }));
    for (let looks = 0; looks < 2; looks++) await watch.check();
    const early = await certificate({ from: Date.now() + day });
    await write(early);
    for (let looks = 0; looks < 2; looks++) await watch.check();
    expect(errors.map(({ message }) => /was valid until|is valid from/.exec(message)?.[0])).toEqual([
      "was valid until",
      "is valid from",
    ]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * day });
    await watch.check();
    vi.useRealTimers();
    expect(updates).toEqual([taken(early)]);
  });

  it("touches nothing once it is stopped", async () => {
    await write(await certificate());
    const looking = watch.check();
    watch.stop();
    await looking;
    expect(updates).toEqual([]);
  });
});

describe("watchTls", () => {
  it("looks again and again until it is stopped", async () => {
    const [first, second] = [await certificate(), await certificate()];
    await write(first);
    let onUpdate!: () => void;
    const updated = (): Promise<void> => new Promise((resolve) => (onUpdate = resolve));
    const one = updated();
    const stop = watchTls(server, files, { everyMs: 1, onUpdate: () => onUpdate() });
    await one;
    const two = updated();
    // In one step each, as a renewal should.
    await writeFile(`${files.key}.new`, second.key);
    await writeFile(`${files.cert}.new`, second.cert);
    await rename(`${files.key}.new`, files.key);
    await rename(`${files.cert}.new`, files.cert);
    await two;
    stop();
    expect(updates.at(-1)).toEqual(taken(second));
  });
});
