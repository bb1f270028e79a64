// What npm would publish, installed in an empty project: generate, compile strictly and under the settings of all sorts of
// projects, serve and call over QUIC.
import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { platformName } from "../../packages/quic/scripts/platforms.mjs";
import { freePort } from "../../scripts/free-port.mjs";
import { compilers, projects } from "../types/projects.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files: Record<string, string> = {
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      target: "es2023",
      lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
      module: "nodenext",
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
      skipLibCheck: false,
      types: ["node"],
      outDir: "out",
      rootDir: ".",
    },
    include: ["*.ts", "generated"],
  }),
  "arith.service.ts": `
    import { rpc, service } from "@quicrpc/core";
    import { z } from "zod";
    export const Arith = service("demo.v1.Arith", {
      multiply: rpc({ input: z.object({ a: z.int(), b: z.int() }), output: z.object({ pro: z.int() }) }),
    });`,
  "arith-server.ts": `
    import { devCertificate, serve } from "@quicrpc/node";
    import { metrics, tracing } from "@quicrpc/otel";
    import { createArithRouter } from "./generated/arith.js";
    const router = createArithRouter({ multiply: ({ a, b }) => ({ pro: a * b }) });
    const tls = await devCertificate({ directory: "certificates" });
    const server = await serve({ port: 0, tls, routers: [router], interceptors: [tracing(), metrics()] });
    console.log(server.address.port);
    process.stdin.once("end", () => void server.close()).resume();`,
  "arith-client.ts": `
    import { connect, devCertificate } from "@quicrpc/node";
    import { createArithClient } from "./generated/arith.js";
    const { hash } = await devCertificate({ directory: "certificates" });
    const session = await connect(\`quic://localhost:\${process.argv[2]}\`, { serverCertificateHashes: [hash] });
    const { pro } = await createArithClient(session).multiply({ a: 9, b: 2 });
    const exact: number = pro;
    console.log(exact);
    await session.close();`,
  // Type-checked only: it runs in a page.
  "page.ts": `
    import { connect } from "@quicrpc/browser";
    import { createQueries } from "@quicrpc/query";
    import { useQuery } from "@tanstack/react-query";
    import { arithMethods, createArithClient } from "./generated/arith.js";
    const connection = await connect("https://localhost:4433");
    const arith = createQueries(arithMethods, connection);
    export const inPage = async (): Promise<number> =>
      (await createArithClient(connection).multiply({ a: 9, b: 2 })).pro;
    export const useProduct = (a: number): number | undefined =>
      useQuery(arith.multiply.queryOptions({ a, b: 2 })).data?.pro;`,
};

/** The package of the engine that was built here. */
const engine = `@quicrpc/quic-${platformName()}`;

let scratch: string;
let project: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "quicrpc-pack-"));
  project = join(scratch, "project");
  await mkdir(project);
  for (const [name, text] of Object.entries({ ...files, ...(await readmeFiles()) })) {
    await writeFile(join(project, name), text);
  }
  await cp(join(root, "test/types"), join(project, "types"), { recursive: true });
  await install();
}, 300_000);

afterAll(() => rm(scratch, { recursive: true, force: true, maxRetries: 3 }));

/** Packs every package, and installs the tarballs with what projects have beside them. */
async function install(): Promise<void> {
  const { devDependencies } = await json<{ devDependencies: Record<string, string> }>(join(root, "package.json"));
  const dependencies: Record<string, string | undefined> = {};
  for (const name of ["typescript", "zod"]) dependencies[name] = devDependencies[name];
  Object.assign(dependencies, compilers);
  for (const folder of ["otel", "query"]) {
    const { peerDependencies } = await json<{ peerDependencies: Record<string, string> }>(
      join(root, "packages", folder, "package.json"),
    );
    Object.assign(dependencies, peerDependencies);
  }
  Object.assign(dependencies, { "@tanstack/react-query": "^5.86.0", react: "^19.0.0", "@types/react": "^19.0.0" });
  const packed = await command(process.execPath, ["scripts/pack.mjs", join(scratch, "tarballs"), "--json"], root);
  for (const { name, path } of JSON.parse(packed) as { name: string; path: string }[]) {
    if (!name.startsWith("@quicrpc/quic-") || name === engine) dependencies[name] = `file:${path}`;
  }
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  await npm(["install", "--prefer-offline", "--no-audit", "--no-fund"], project);
}

it("generates, compiles and talks", { timeout: 300_000 }, async () => {
  await npm(["exec", "--offline", "--", "quicrpc", "gen", "--out", "generated"], project);
  await tsc("typescript", ".");

  const arith = spawn(process.execPath, ["out/arith-server.js"], { cwd: project });
  const greeter = spawn(process.execPath, ["out/server.js"], { cwd: project, stdio: ["ignore", "inherit", "inherit"] });
  try {
    const port = await firstLine(arith);
    expect(await command(process.execPath, ["out/arith-client.js", port], project)).toBe("18\n");
    arith.stdin.end();
    expect(await once(arith, "exit")).toEqual([0, null]);
    const said = "{ text: 'Hello, Ada!' }\n3\n2\n1\n0\n";
    expect(await command(process.execPath, ["out/client.js"], project)).toBe(said);
    if (process.platform === "win32") return;
    greeter.kill("SIGINT");
    expect(await once(greeter, "exit")).toEqual([0, null]);
  } finally {
    arith.kill("SIGKILL");
    greeter.kill("SIGKILL");
  }
});

/** Rejects with what the process wrote to stderr where it ends before. */
async function firstLine(child: ChildProcessWithoutNullStreams): Promise<string> {
  let errors = "";
  child.stderr.on("data", (text) => (errors += String(text)));
  const ended = once(child, "close").then(() => Promise.reject(new Error(`ended before a line: ${errors}`)));
  ended.catch(() => {});
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended])) as [string];
  return line;
}

// One after the other: each takes a core and some hundred megabytes.
describe("published types", () => {
  beforeAll(
    () => npm(["exec", "--offline", "--", "quicrpc", "gen", "--config", "types/quicrpc.config.ts"], project),
    60_000,
  );

  it.each(projects)("$compiler, $name", { timeout: 120_000 }, async ({ compiler, name, settings, files }) => {
    const { extends: base, ...options } = settings;
    const compilerOptions = { ...options, skipLibCheck: false, noEmit: true };
    const path = join(project, "types", `${compiler}, ${name}.json`);
    await writeFile(path, JSON.stringify({ extends: base, compilerOptions, files }));
    await tsc(compiler, path);
  });

  it("are found by CommonJS at run time", async () => {
    await command(process.execPath, [join(project, "types", "required.cjs")], project);
  });
});

/** Compiles by the compiler of that name; what it complains of is the error. */
function tsc(compiler: string, path: string): Promise<string> {
  return command(process.execPath, [join(project, "node_modules", compiler, "bin/tsc"), "-p", path], project);
}

/** The files of the README's first service, on a port that is free here. */
async function readmeFiles(): Promise<Record<string, string>> {
  const readme = await readFile(join(root, "README.md"), "utf8");
  const blocks = [...readme.matchAll(/^`([\w.]+\.ts)`[^\n]*\n\n```ts file=\S+\n([\s\S]*?)```/gm)];
  expect(blocks.map(([, name]) => name)).toEqual(["greeter.service.ts", "server.ts", "client.ts"]);
  const port = await freePort();
  return Object.fromEntries(blocks.map(([, name, text = ""]) => [name, text.replaceAll("4433", String(port))]));
}

async function json<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, "utf8")) as T;
}

function npm(args: string[], cwd: string): Promise<string> {
  return command("npm", args, cwd);
}

/** Runs a command and returns its output; that of a failure becomes the error. */
async function command(file: string, args: string[], cwd: string): Promise<string> {
  // npm hands its own settings, the workspace among them, to what it starts.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  const shell = process.platform === "win32" && file === "npm";
  const options = { cwd, env, shell, maxBuffer: 1 << 26 };
  try {
    return (await promisify(execFile)(file, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${file} ${args.join(" ")}\n${stdout}${stderr}`, { cause: error });
  }
}
