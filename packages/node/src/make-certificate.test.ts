import { createPrivateKey, X509Certificate } from "node:crypto";
import type * as quic from "@quicrpc/quic";
import { createCertificate, QuicError } from "@quicrpc/quic";
import { describe, expect, it, vi } from "vitest";
import { makeAuthority, makeCertificate } from "./make-certificate.js";
import { splitPem } from "./dev-authority.js";

vi.mock("@quicrpc/quic", async (original) => {
  const real = await original<typeof quic>();
  return { ...real, createCertificate: vi.fn<typeof quic.createCertificate>(real.createCertificate) };
});

describe("makeCertificate without the engine", () => {
  const missing = (): never => {
    throw new QuicError({ source: "system", code: "ERR_QUIC_NATIVE_MISSING", message: "QUIC is not available" });
  };

  it("uses the package selfsigned", async () => {
    vi.mocked(createCertificate).mockImplementationOnce(missing);
    const { cert, key } = splitPem(await makeCertificate(["app.example", "10.0.0.1", "::1"]));
    const certificate = new X509Certificate(cert);
    const names = [certificate.checkHost("app.example"), certificate.checkIP("10.0.0.1"), certificate.checkIP("::1")];
    expect(names).toEqual(["app.example", "10.0.0.1", "::1"]);
    expect(certificate.verify(certificate.publicKey) && certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    const days = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / (24 * 3_600_000);
    expect(days).toBeLessThanOrEqual(14);
  });

  it("is signed by an authority that the engine created", async () => {
    const authority = splitPem(makeAuthority("an authority", ["localhost"]));
    vi.mocked(createCertificate).mockImplementationOnce(missing);
    const { cert } = splitPem(await makeCertificate(["localhost"], authority));
    const issuer = new X509Certificate(authority.cert);
    const certificate = new X509Certificate(cert);
    expect(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)).toBe(true);
  });

  it("names the host that is malformed", async () => {
    await expect(makeCertificate(["ä.example"])).rejects.toThrow(/cannot create the certificate/);
  });
});

describe("makeAuthority", () => {
  it("refuses names that a certificate cannot have", () => {
    expect(() => makeAuthority("an authority", ["ä.example"])).toThrow(/cannot create the certificate/);
    expect(() => makeAuthority("an authority", [])).toThrow("at least one host");
  });
});
