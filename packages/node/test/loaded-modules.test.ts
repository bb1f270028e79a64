import { execFileSync } from "node:child_process";
import { devCertificate } from "@quicrpc/node";
import { expect, it } from "vitest";

/** A call over QUIC, both sides in one process. */
const program = `
  const { createRouter, defineMethod, uncheckedCodec } = await import("@quicrpc/core/generated");
  const { connect, serve } = await import("@quicrpc/node");
  const { createRequire } = await import("node:module");
  const { cert, key, hash } = JSON.parse(process.argv[1]);
  const any = uncheckedCodec();
  const methods = {
    double: defineMethod({ name: "test.v1.Loads", id: 7005 }, "unary", "double", { id: 1, input: any, output: any }),
  };
  const router = createRouter(methods, { double: (n) => n * 2 });
  const server = await serve({ port: 0, tls: { cert, key }, routers: [router] });
  const value = new Uint8Array(hash);
  const session = await connect("quic://127.0.0.1:" + server.address.port, {
    serverCertificateHashes: [{ algorithm: "sha-256", value }],
  });
  const answer = await session.unary(methods.double, 21);
  await session.close();
  await server.close();
  const packages = Object.keys(createRequire(process.cwd() + "/").cache);
  console.log(JSON.stringify({ answer, loaded: [...process.moduleLoadList, ...packages] }));
`;

/** Modules that other transports need, and `fetch`. */
const OTHERS = /(NativeModule (tls|http|https|http2|internal\/deps\/undici\/undici)|node_modules\/ws\/.*)$/;

it("a process that calls and serves over QUIC loads nothing of the other transports", async () => {
  const { cert, key, hash } = await devCertificate();
  const given = JSON.stringify({ cert, key, hash: [...hash.value] });
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program, given], { encoding: "utf8" });
  const { answer, loaded } = JSON.parse(output) as { answer: number; loaded: string[] };
  expect(answer).toBe(42);
  expect(loaded).toContain("NativeModule net");
  expect(loaded.filter((name) => OTHERS.test(name))).toEqual([]);
});
