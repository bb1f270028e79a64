import { execFileSync } from "node:child_process";
import { devCertificate } from "@quicrpc/node";
import { expect, it } from "vitest";

/** A call, both sides in one process, which the second argument names: quic or tls. */
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
  const server = await serve({
    listen: [process.argv[2] + "://127.0.0.1:0"],
    tls: { cert, key },
    routers: [router],
  });
  const value = new Uint8Array(hash);
  const session = await connect(server.urls[0], {
    serverCertificateHashes: [{ algorithm: "sha-256", value }],
  });
  const answer = await session.unary(methods.double, 21);
  await session.close();
  await server.close();
  const packages = Object.keys(createRequire(process.cwd() + "/").cache);
  console.log(JSON.stringify({ answer, loaded: [...process.moduleLoadList, ...packages] }));
`;

/** Modules that other transports need, and `fetch`. */
const OTHERS = {
  quic: /(NativeModule (tls|http|https|http2|internal\/deps\/undici\/undici)|node_modules\/ws\/.*)$/,
  tls: /(NativeModule (http|https|http2|internal\/deps\/undici\/undici)|node_modules\/ws\/.*|\.node)$/,
} as const;

it.each(["quic", "tls"] as const)(
  "a process that calls and serves over %s loads nothing of the other transports",
  async (scheme) => {
    const { cert, key, hash } = await devCertificate();
    const given = JSON.stringify({ cert, key, hash: [...hash.value] });
    const args = ["--input-type=module", "-e", program, given, scheme];
    const { answer, loaded } = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as {
      answer: number;
      loaded: string[];
    };
    expect(answer).toBe(42);
    expect(loaded).toContain("NativeModule net");
    expect(loaded.filter((name) => OTHERS[scheme].test(name))).toEqual([]);
  },
);
