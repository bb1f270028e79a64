import { openNetwork } from "@quicrpc/testing";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { behaviourRouter, Witness } from "../../../../test/behaviour/service.js";
import { judgeCertificate } from "./certificate.js";
import { examineMachine, judgeClock, nodeVersion } from "./machine.js";
import type { Finding } from "./finding.js";
import { examineServer } from "./server.js";

const statuses = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(findings.map(({ check, status }) => [check, status]));
const find = (findings: readonly Finding[], check: string): Finding | undefined =>
  findings.find((finding) => finding.check === check);

describe("the doctor looks at a server", () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    const routers = [behaviourRouter(new Witness())];
    server = await serve({ listen: "https://127.0.0.1:0/rpc", webSocket: true, tls: await devCertificate(), routers });
    url = server.urls[0] ?? "";
  });
  afterAll(() => server.close());

  it("finds nothing wrong with one that is well", async () => {
    const findings = await examineServer(url, { timeout: 5000, dev: true });
    expect(findings.filter(({ status }) => status === "problem")).toEqual([]);
    expect(statuses(findings)).toMatchObject({
      address: "ok",
      certificate: "ok",
      expiry: "ok",
      https: "ok",
      wss: "ok",
      tls: "note",
      udp: "ok",
      mtu: "ok",
      balance: "ok",
    });
  });

  it("finds a certificate that is not trusted", async () => {
    const findings = await examineServer(url, { timeout: 5000 });
    expect(statuses(findings)).toMatchObject({ certificate: "problem", https: "problem" });
    expect(find(findings, "certificate")?.fix).toContain("--dev");
  });

  it("finds UDP that does not pass", async () => {
    const network = await openNetwork({ target: server.address.port, conditions: { udpBlocked: true } });
    try {
      const findings = await examineServer(`https://127.0.0.1:${network.port}/rpc`, { timeout: 400, dev: true });
      expect(statuses(findings)).toMatchObject({ https: "problem", wss: "ok", udp: "problem" });
      expect(find(findings, "udp")).toMatchObject({
        text: "TCP works but UDP does not: packets get no answer",
      });
    } finally {
      network.close();
    }
  });

  it("finds that nobody is there", async () => {
    const nobody = await openNetwork({ target: 1 });
    const { port } = nobody;
    nobody.close();
    const findings = await examineServer(`tls://127.0.0.1:${port}`, { timeout: 400 });
    expect(find(findings, "tls")).toMatchObject({
      status: "problem",
      fix: expect.stringContaining("no server listens there"),
    });
  });
});

describe("the doctor judges", () => {
  const seen = {
    certificate: {
      valid_from: "Jan  1 00:00:00 2026 GMT",
      valid_to: "Feb  1 00:00:00 2026 GMT",
      subjectaltname: "DNS:a.example",
      fingerprint256: "AB:01",
    },
    untrusted: undefined,
    alpn: undefined,
    chain: ["a.example", "root"],
  };
  const at = (text: string): number => Date.parse(text);

  it.each([
    ["2025-12-31", "problem"],
    ["2026-01-02", "ok"],
    ["2026-01-25", "note"],
    ["2026-02-03", "problem"],
  ])("a certificate's time on %s: %s", (day, status) => {
    expect(statuses(judgeCertificate(seen, "a.example", [], at(day)))["expiry"]).toBe(status);
  });

  it("a certificate for another name, and one without its chain", () => {
    const now = at("2026-01-02");
    const other = judgeCertificate({ ...seen, untrusted: "ERR_TLS_CERT_ALTNAME_INVALID" }, "b.example", [], now);
    expect(find(other, "certificate")?.text).toBe("is for DNS:a.example, not for b.example");
    const alone = { ...seen, chain: ["a.example"], untrusted: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" };
    expect(find(judgeCertificate(alone, "a.example", [], now), "certificate")?.fix).toContain("the whole chain");
  });

  it("a certificate by its hash, and one that is only too old", () => {
    const now = at("2026-01-02");
    const selfSigned = { ...seen, untrusted: "DEPTH_ZERO_SELF_SIGNED_CERT" };
    expect(find(judgeCertificate(selfSigned, "b.example", ["00", "ab01"], now), "certificate")?.status).toBe("ok");
    expect(find(judgeCertificate(selfSigned, "b.example", ["00"], now), "certificate")).toMatchObject({
      status: "problem",
      text: "a.example ← root has the SHA-256 ab01, which --dev or --hash does not trust",
    });
    const old = judgeCertificate({ ...seen, untrusted: "CERT_HAS_EXPIRED" }, "a.example", [], at("2026-02-03"));
    expect(statuses(old)).toMatchObject({ expiry: "problem", certificate: "note" });
  });

  it("clocks and versions of Node", () => {
    expect(judgeClock(3000, 0).status).toBe("ok");
    expect(judgeClock(90_000, 0)).toMatchObject({ status: "problem", text: "is 90 s ahead of the server's" });
    expect(judgeClock(0, 90_000).text).toBe("is 90 s behind the server's");
    expect([nodeVersion("20.18.3"), nodeVersion("20.19.0"), nodeVersion("26.1.0")].map(({ status }) => status)).toEqual(
      ["problem", "ok", "ok"],
    );
  });

  it("this machine", async () => {
    const engine = process.env["QUICRPC_NO_ENGINE"] === undefined ? "ok" : "problem";
    expect(statuses(await examineMachine())).toMatchObject({ node: "ok", engine });
  });
});
