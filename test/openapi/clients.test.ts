import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import createClient from "openapi-fetch";
import openapiTypes, { astToString } from "openapi-typescript";
import { afterAll, describe, expect, test } from "vitest";
import { runShop } from "./shop.js";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const document = here("generated/openapi.json");
const cache = here("../.cache/openapi");
mkdirSync(cache, { recursive: true });

const shop = await runShop();
afterAll(() => shop[Symbol.asyncDispose]());

describe("a client by openapi-typescript and openapi-fetch", () => {
  const program = here("fetch-client.txt");

  test("compiles against the types of the document", { timeout: 60_000 }, async () => {
    const types = astToString(await openapiTypes(readFileSync(document, "utf8")));
    writeFileSync(`${cache}/openapi.ts`, types);
    writeFileSync(`${cache}/client.ts`, readFileSync(program, "utf8"));
    const tsc = here("../../node_modules/typescript/bin/tsc");
    const options =
      "--noEmit --strict --skipLibCheck --module nodenext --target es2023 --ignoreConfig --types node".split(" ");
    const { status, stdout } = spawnSync(process.execPath, [tsc, ...options, `${cache}/client.ts`], {
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });

  test("calls a running server", async () => {
    const client = createClient<Record<string, never>>({ baseUrl: shop.url }) as unknown as {
      POST(path: string, init: object): Promise<{ data?: unknown; error?: unknown; response: Response }>;
      GET(path: string, init: object): Promise<{ data?: unknown; error?: unknown; response: Response }>;
    };
    const { data } = await client.POST("/shop.v1.Shop/get", { body: { id: "7" } });
    expect(data).toMatchObject({
      id: "7",
      listedAt: "2026-01-31T12:00:00.000Z",
      picture: "AQL/",
      stock: { berlin: 3 },
    });
    const added = await client.POST("/shop.v1.Shop/add", { body: data as object });
    expect(added.data).toEqual(data);
    const gone = await client.POST("/shop.v1.Shop/get", { body: { id: "1" } });
    expect(gone.response.status).toBe(400);
    expect(gone.error).toMatchObject({
      code: "failed_precondition",
      details: [{ debug: { reason: "GONE", details: { since: "2026-01-01T00:00:00.000Z" } } }],
    });
    const query = { encoding: "json", message: JSON.stringify({ id: "8" }) };
    expect((await client.GET("/shop.v1.Shop/get", { params: { query } })).data).toMatchObject({ id: "8" });
    const wrong = await client.POST("/shop.v1.Shop/buy", { body: { id: "1", payment: { by: "card", number: "1" } } });
    expect(wrong.error).toMatchObject({ code: "invalid_argument", message: "invalid regex at payment.number" });
  });
});

const python = pythonWithGenerator();

describe("a client by openapi-python-client", () => {
  test("calls a running server", { timeout: 120_000 }, async ({ skip }) => {
    if (python === undefined) return skip("it needs Python 3 with venv, and its package index");
    const target = `${cache}/shop_client`;
    rmSync(target, { recursive: true, force: true });
    const generator = `${cache}/venv/bin/openapi-python-client`;
    execFileSync(generator, ["generate", "--path", document, "--output-path", target, "--meta", "none"], {
      stdio: "pipe",
    });
    const run = promisify(execFile);
    const { stdout } = await run(python, [here("client.py"), shop.url], { env: { ...process.env, PYTHONPATH: cache } });
    expect(JSON.parse(stdout)).toEqual({
      id: "7",
      listed_at: "2026-01-31T12:00:00+00:00",
      stock: { berlin: 3 },
      kind: "used",
      sameAfterAdd: true,
      error: { code: "failed_precondition", reason: "GONE", since: "2026-01-01T00:00:00+00:00" },
      total: 12,
      categories: "pots",
    });
  });
});

/** The interpreter of a virtual environment that has the generator; undefined where that cannot be had. */
function pythonWithGenerator(): string | undefined {
  const interpreter = `${cache}/venv/bin/python`;
  if (existsSync(`${cache}/venv/bin/openapi-python-client`)) return interpreter;
  const options = { stdio: "ignore", timeout: 120_000 } as const;
  const made = spawnSync("python3", ["-m", "venv", `${cache}/venv`], options).status === 0;
  const packages = ["openapi-python-client==0.29.1"];
  const installed = made && spawnSync(interpreter, ["-m", "pip", "install", "-q", ...packages], options).status === 0;
  return installed ? interpreter : undefined;
}
