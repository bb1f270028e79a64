import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Interceptor, interceptRouter, RpcError } from "@quicrpc/core";
import { createFetchHandler, jsonCodecOf } from "@quicrpc/http";
import { openApiDocument } from "@quicrpc/http/openapi";
import { createReflection } from "@quicrpc/services";
import { createConfig, lint } from "@redocly/openapi-core";
import { afterAll, expect, test } from "vitest";
import { shopMethods } from "./generated/shop.js";
import { router, runShop, teapot } from "./shop.js";

const file = fileURLToPath(new URL("generated/openapi.json", import.meta.url));
type Document = {
  readonly paths: Readonly<Record<string, { readonly get?: Operation; readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
};
type Operation = {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content: object }>>;
} & Readonly<Record<string, unknown>>;
const document = JSON.parse(readFileSync(file, "utf8")) as Document;

const shop = await runShop();
afterAll(() => shop[Symbol.asyncDispose]());

test("a validator finds no mistake in what gen writes", async () => {
  const problems = await lint({ ref: file, config: await createConfig({ extends: ["recommended"] }) });
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([
    "info-license: Info object should contain `license` field.",
  ]);
});

test("a running server has the document that gen writes", async () => {
  const response = await fetch(`${shop.url}/openapi.json`);
  expect(response.headers.get("content-type")).toBe("application/json");
  const running = (await response.json()) as Document;
  // It serves reflection too, which no file of the service's has.
  const paths = Object.entries(running.paths).filter(([path]) => !path.startsWith("/quicrpc.v1.Reflection/"));
  expect(Object.fromEntries(paths)).toEqual(document.paths);
  expect(running.components).toMatchObject(document.components);
  expect(running).toMatchObject({ info: { title: "shop", version: "1.0.0" }, servers: [{ url: "/" }] });
});

test("a running server describes its services in JSON", async () => {
  const init = { method: "POST", body: '{"service":"shop.v1.Shop"}', headers: { "content-type": "application/json" } };
  const answer = await fetch(`${shop.url}/quicrpc.v1.Reflection/describe`, init);
  expect(await answer.json()).toMatchObject({
    methods: expect.arrayContaining([expect.objectContaining({ name: "get" })]),
  });
});

test("only where that is asked for, and to those who may call", async () => {
  const closed = createFetchHandler({ routers: [router] });
  expect((await closed(new Request("http://localhost/openapi.json"))).status).toBe(404);
  const guarded = createFetchHandler({
    routers: [router],
    openApi: true,
    prefix: "/api",
    authenticate({ headers, method }) {
      if (headers.get("authorization") === null) throw new RpcError("unauthenticated", `${method}: who are you?`);
      return undefined;
    },
  });
  const refused = await guarded(new Request("http://localhost/api/openapi.json"));
  expect(refused.status).toBe(401);
  expect(await refused.json()).toMatchObject({ message: "quicrpc.v1.Reflection/describe: who are you?" });
  const headers = { authorization: "Bearer x" };
  const taken = await guarded(new Request("http://localhost/api/openapi.json", { headers }));
  expect(await taken.json()).toMatchObject({ servers: [{ url: "/api" }], paths: { "/shop.v1.Shop/get": {} } });
});

test("only to those who may call Reflection/describe, by the interceptors of the server or of its reflection", async () => {
  const noAdmin: Interceptor = (call, next) => {
    if (call.method.name !== "describe" || call.metadata.get("role") === "admin") return next(call);
    throw new RpcError("permission_denied", "admins only");
  };
  const reflection = createReflection([router]);
  for (const options of [
    { routers: [router], interceptors: [noAdmin] },
    { routers: [router, reflection], interceptors: [noAdmin] },
    { routers: [router, interceptRouter(reflection, [noAdmin])] },
  ]) {
    const handler = createFetchHandler({ ...options, openApi: true });
    const statusFor = async (headers: Record<string, string>): Promise<number> =>
      (await handler(new Request("http://localhost/openapi.json", { headers }))).status;
    expect([await statusFor({}), await statusFor({ role: "admin" })]).toEqual([403, 200]);
  }
});

test("blobs are resources below their method, as a running server has them", async () => {
  const at = "/shop.v1.Shop/manual/file";
  const { paths, components } = document as unknown as { paths: Record<string, Record<string, Operation>> } & Document;
  expect(Object.keys(paths[at] ?? {})).toEqual(["post"]);
  expect(Object.keys(paths[`${at}/{id}`] ?? {})).toEqual(["parameters", "get", "head", "patch", "delete"]);
  expect(components.schemas["ShopManualInput"]).toMatchObject({
    properties: { file: { $ref: "#/components/schemas/Upload" } },
    required: ["id", "file"],
  });
  expect(components.schemas["ShopManualOutput"]).toMatchObject({
    properties: { file: { $ref: "#/components/schemas/Blob" } },
  });
  const headers = { "content-type": "text/plain", "content-disposition": 'attachment; filename="a.txt"' };
  const uploaded = await fetch(shop.url + at, { method: "POST", headers, body: "how to pour" });
  const file = (await uploaded.json()) as { url: string };
  const called = await fetch(`${shop.url}/shop.v1.Shop/manual`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: "7", file }),
  });
  const answer = (await called.json()) as { file: { url: string } };
  expect(answer).toMatchObject({ bytes: 11, file: { length: 11, type: "text/plain", name: "a.txt" } });
  const part = await fetch(shop.url + answer.file.url, { headers: { range: "bytes=7-" } });
  expect([part.status, await part.text()]).toEqual([206, "pour"]);
});

test("schemas have every check, in the JSON that is written", () => {
  expect(document.components.schemas["Article"]).toEqual({
    title: "Article",
    type: "object",
    properties: {
      id: { type: "string", pattern: "^-?[0-9]+$" },
      name: { type: "string", minLength: 1, maxLength: 80, description: "Its name in the shop.", examples: ["Teapot"] },
      kind: { type: "string", enum: ["new", "used"] },
      price: { type: "number", minimum: 0, multipleOf: 0.01 },
      listedAt: { type: "string", format: "date-time" },
      picture: { type: "string", contentEncoding: "base64" },
      tags: { type: "array", items: { type: "string" }, uniqueItems: true, minItems: 1, maxItems: 20 },
      stock: {
        type: "object",
        additionalProperties: { type: "integer", minimum: 0 },
        minProperties: 1,
        maxProperties: 100,
      },
      notes: { type: "object", additionalProperties: { type: ["string", "null"] } },
      size: { type: "array", prefixItems: [{ type: "number" }, { type: "number" }], minItems: 2, maxItems: 2 },
      color: { default: "white", type: "string" },
      old: { deprecated: true, type: "string" },
    },
    required: ["id", "name", "kind", "price", "listedAt", "tags", "stock", "notes", "size"],
  });
  expect(document.components.schemas["ShopBuyInput"]).toMatchObject({
    properties: { edition: { type: "string", enum: ["1", "2"] } },
  });
  const written = JSON.parse(jsonCodecOf(shopMethods.add.input as never).write(teapot)) as object;
  expect(written).toMatchObject({
    id: "9007199254740993",
    picture: "AQL/",
    stock: { berlin: 3 },
    tags: ["tea", "pot"],
  });
});

test("operations say what people are told, and which errors there are", () => {
  const { post, get } = document.paths["/shop.v1.Shop/get"] ?? expect.unreachable();
  expect(post).toMatchObject({ operationId: "ShopGet", tags: ["shop.v1.Shop"], summary: "Gets an article." });
  expect(get?.operationId).toBe("ShopGetByGet");
  expect(Object.keys(post.responses)).toEqual(["200", "400", "503", "default"]);
  const buy = document.paths["/shop.v1.Shop/buy"]?.post;
  expect(buy).toMatchObject({ summary: "Buys an article.", deprecated: true });
  expect(document.paths["/shop.v1.Shop/add"]?.get).toBeUndefined();
  const watch = document.paths["/shop.v1.Shop/watch"];
  expect(Object.keys(watch?.post.responses["200"]?.content ?? {})).toEqual(["application/connect+json"]);
  expect(Object.keys(watch?.get?.responses["200"]?.content ?? {})).toEqual(["text/event-stream"]);
});

test("a method's meta may say more", () => {
  const meta = { summary: "Buy", description: "At once.", deprecated: true, tags: ["money"], cost: 5 };
  const method = {
    name: "buy",
    kind: "unary",
    readOnly: false,
    input: undefined,
    output: undefined,
    errors: [],
  } as const;
  const { paths } = openApiDocument([{ name: "shop.v1.Shop", methods: [{ ...method, meta }] }]) as Pick<
    Document,
    "paths"
  >;
  expect(paths["/shop.v1.Shop/buy"]?.post).toMatchObject({
    summary: "Buy",
    description: "At once.",
    deprecated: true,
    tags: ["shop.v1.Shop", "money"],
  });
});

test("nothing in it is an extension", () => {
  expect(readFileSync(file, "utf8")).not.toContain('"x-');
});

test("what authorize() asks of callers is the security of their operations", () => {
  const method = {
    name: "a",
    kind: "unary",
    readOnly: false,
    input: undefined,
    output: undefined,
    errors: [],
  } as const;
  const methods = [
    { ...method, name: "open", meta: { auth: "public" } },
    { ...method, name: "write", meta: { scopes: ["orders:write"] } },
    { ...method, name: "other" },
  ];
  const services = [{ name: "shop.v1.Shop", methods }];
  const described = openApiDocument(services, { securitySchemes: { token: { type: "http", scheme: "bearer" } } });
  const { paths } = described as { paths: Record<string, { post: { security?: unknown } }> };
  expect(paths["/shop.v1.Shop/open"]?.post.security).toEqual([]);
  expect(paths["/shop.v1.Shop/write"]?.post.security).toEqual([{ token: ["orders:write"] }]);
  expect(paths["/shop.v1.Shop/other"]?.post.security).toBeUndefined();
});
