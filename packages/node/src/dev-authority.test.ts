import { X509Certificate } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { devAuthority } from "./dev-authority.js";
import { devCertificate } from "./dev-certificate.js";

const DAY = 24 * 3_600_000;
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "quicrpc-"));
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(directory, { recursive: true });
});

describe("devAuthority", () => {
  it("signs the certificates from then on, which keep what trust by hash asks for", async () => {
    const alone = await devCertificate({ directory });
    const authority = await devAuthority({ directory });
    const signed = await devCertificate({ directory });
    expect(signed.cert).not.toBe(alone.cert);
    const issuer = new X509Certificate(authority.cert);
    const certificate = new X509Certificate(signed.cert);
    expect(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)).toBe(true);
    expect(certificate.checkHost("localhost") && certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(certificate.ca).toBe(false);
    expect(signed.validTo.getTime() - Date.parse(certificate.validFrom)).toBeLessThanOrEqual(14 * DAY);
    expect(await devCertificate({ directory })).toEqual(signed);
    expect(await devAuthority({ directory })).toEqual(authority);
  });

  it("is for its hosts and those below them, and certificates of others are signed by themselves", async () => {
    const { hosts, name, cert } = await devAuthority({ directory });
    expect(hosts).toEqual(["localhost", "127.0.0.1", "::1"]);
    const below = new X509Certificate((await devCertificate({ directory, hosts: ["app.localhost"] })).cert);
    expect(below.issuer).toBe(`CN=${name}`);
    const other = new X509Certificate((await devCertificate({ directory, hosts: ["shop.example"] })).cert);
    expect(other.issuer).toBe(other.subject);
    const wider = await devAuthority({ directory, hosts: ["shop.example"] });
    expect(wider.cert).not.toBe(cert);
    const since = new X509Certificate((await devCertificate({ directory, hosts: ["shop.example"] })).cert);
    expect(since.checkIssued(new X509Certificate(wider.cert))).toBe(true);
  });

  it.skipIf(process.platform === "win32")("keeps its key from other users", async () => {
    const { file } = await devAuthority({ directory });
    expect((await stat(join(directory, "authority.pem"))).mode & 0o077).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o644);
  });

  it("is made anew a month before it expires, and certificates with it", async () => {
    const first = await devAuthority({ directory });
    vi.useFakeTimers({ now: first.validTo.getTime() - 29 * DAY, toFake: ["Date"] });
    const next = await devAuthority({ directory });
    expect(next.validTo.getTime()).toBeGreaterThan(first.validTo.getTime());
    const certificate = new X509Certificate((await devCertificate({ directory })).cert);
    expect(certificate.checkIssued(new X509Certificate(next.cert))).toBe(true);
  });
});

it("a certificate that is renewed is another one, and the one that is kept", async () => {
  const first = await devCertificate({ directory });
  const second = await devCertificate({ directory, renew: true });
  expect(second.cert).not.toBe(first.cert);
  expect(second.file).toBe(first.file);
  expect(await devCertificate({ directory })).toEqual(second);
});
