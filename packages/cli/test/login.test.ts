// Commands against a server that lets strangers call its public methods only.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { authorize, RpcError } from "@quicrpc/core";
import { createRouter, defaultServiceId, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { serve } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { expect, onTestFinished, test } from "vitest";
import { useProject } from "./project.js";

const { cwd, run, start, write } = useProject();

const SCHEMA = `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Auth = service("auth.v1.Auth", {
  /** Signs in. */
  login: rpc({ input: z.object({ user: z.string() }), output: z.object({ token: z.string() }), meta: { auth: "public" } }),
  whoAmI: rpc({ output: z.object({ user: z.string() }) }),
});
`;

const name = "auth.v1.Auth";
const service = { name, id: defaultServiceId(name) };
const any = uncheckedCodec<never>();
const methods = {
  login: defineMethod(service, "unary", "login", { id: 1, input: any, output: any, meta: { auth: "public" } }),
  whoAmI: defineMethod(service, "unary", "whoAmI", { id: 2, output: any }),
};
const router = createRouter(methods, {
  login: ({ user }: { user: string }) => ({ token: `of ${user}` }) as never,
  whoAmI: (_, { connection }) => connection as never,
});
const LOGIN = ["auth.v1.Auth/login", '{"user":"ada"}'];

/** Starts the server. Returns its URL. */
async function guarded(isPublic: boolean): Promise<string> {
  const server = await serve<{ readonly user: string } | undefined>({
    listen: "tcp://127.0.0.1:0",
    routers: [router, createReflection([router], { public: isPublic })],
    interceptors: [authorize({ scopesOf: ({ context }) => (context.connection === undefined ? undefined : []) })],
    async authenticate({ credentials }) {
      const token = await credentials;
      if (token === undefined) return undefined;
      if (typeof token !== "string" || !token.startsWith("of ")) throw new RpcError("unauthenticated", "a wrong token");
      return { user: token.slice(3) };
    },
  });
  onTestFinished(async () => void (await server.close()));
  return server.urls[0] ?? "";
}

test("public reflection lets a stranger find and call a login, and nothing else", async () => {
  const url = await guarded(true);
  expect(await run(["call", url, ...LOGIN])).toEqual({ code: 0, stdout: '{"token":"of ada"}\n', stderr: "" });
  expect((await run(["ls", url])).stdout).toContain('login   unary, {"auth":"public"}');
  const refused = await run(["call", url, "auth.v1.Auth/whoAmI"]);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^unauthenticated .*\nhelp: authenticate with session credentials/),
  });
});

test("without it a login is called by --schema, or by the schemas of the project", async () => {
  const url = await guarded(false);
  const nowhere = await run(["call", url, ...LOGIN]);
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("or pass them with --schema <file>") });
  write("schemas/auth.ts", SCHEMA);
  const schema = ["--schema", "schemas/auth.ts"];
  const answer = { code: 0, stdout: '{"token":"of ada"}\n', stderr: "" };
  expect(await run(["call", url, ...LOGIN, ...schema])).toEqual(answer);
  expect((await run(["ls", url, ...schema])).stdout).toContain("whoAmI");
  expect((await run(["describe", url, ...schema])).stdout).toContain("// Signs in.");
  const load = await run([
    "load",
    url,
    "auth.v1.Auth/login",
    "--generate",
    "-n",
    "2",
    "--warm-up",
    "0",
    "--json",
    ...schema,
  ]);
  expect(JSON.parse(load.stdout)).toMatchObject({ calls: 2, failed: {} });
  write("src/auth.service.ts", SCHEMA);
  const notice =
    "The server refuses its reflection (unauthenticated): using the schemas of this project, src/auth.service.ts.\n";
  expect(await run(["call", url, ...LOGIN])).toEqual({ ...answer, stderr: notice });
});

test("a schema of --schema is loaded with the packages of its own project", async () => {
  const url = await guarded(false);
  write("schemas/auth.ts", SCHEMA);
  const elsewhere = mkdtempSync(join(tmpdir(), "quicrpc-"));
  onTestFinished(() => rmSync(elsewhere, { recursive: true }));
  const schema = ["--schema", relative(elsewhere, join(cwd, "schemas/auth.ts"))];
  const call = start(["call", url, ...LOGIN, ...schema], {}, relative(cwd, elsewhere));
  await call.says('{"token":"of ada"}');
  expect(await call.exit).toBe(0);
});

test("a wrong schema of --schema is said with its place", async () => {
  const url = await guarded(false);
  write("schemas/auth.ts", SCHEMA.replace("z.string()", "z.symbol()"));
  expect(await run(["call", url, ...LOGIN, "--schema", "schemas/auth.ts"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--schema schemas/auth.ts:5: "),
  });
});
