// Calls that take effect once, over HTTP.
import { isRpcErrorOf } from "@quicrpc/core";
import { createOnceKey, onceFailure } from "@quicrpc/durable";
import { type HttpOptions, httpTransport, plainJson } from "@quicrpc/http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHttpClient, type HttpClient, httpMethods } from "./generated/http.js";
import { type Running, serveHttp } from "./service.js";

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
const at = new Date(5);

let server: Running;
let url: string;
beforeEach(async () => {
  server = await serveHttp();
  url = `http://127.0.0.1:${server.port}`;
});
afterEach(() => server.close());

describe.each([
  ["MessagePack", {}],
  ["JSON", { codec: plainJson }],
] as [string, HttpOptions][])("a call that is once, in %s,", (_, options) => {
  let client: HttpClient;
  beforeEach(() => {
    client = createHttpClient(httpTransport(options).caller(url));
  });

  it("is answered again as it was, and two calls are two effects", async () => {
    const onceKey = createOnceKey();
    const first = await client.charge({ amount: 2n ** 62n, at }, { onceKey });
    expect(first).toEqual({ amount: 2n ** 63n, at, effects: 1 });
    let replayed: string | undefined;
    const again = client.charge(
      { amount: 2n ** 62n, at },
      { onceKey, onResponseMetadata: (metadata) => (replayed = metadata.get("idempotent-replayed")) },
    );
    expect(await again).toEqual(first);
    expect(replayed).toBe("true");
    expect(await client.charge({ amount: 1n, at })).toMatchObject({ effects: 2 });
  });

  it("keeps its error, and says why a key is not taken", async () => {
    const onceKey = createOnceKey();
    for (let i = 0; i < 2; i++) {
      const error = await failure(client.charge({ amount: 0n, at }, { onceKey }));
      if (!isRpcErrorOf(httpMethods.charge, error)) throw error;
      expect(error.details).toEqual({ since: at });
    }
    expect(onceFailure(await failure(client.charge({ amount: 1n, at }, { onceKey })))).toBe("mismatch");
    expect(await client.charge({ amount: 1n, at })).toMatchObject({ effects: 2 });
  });
});

it("a call in MessagePack and one in JSON with the same key are one", async () => {
  const onceKey = createOnceKey();
  const input = { amount: 3n, at };
  const first = await createHttpClient(httpTransport().caller(url)).charge(input, { onceKey });
  expect(await createHttpClient(httpTransport({ codec: plainJson }).caller(url)).charge(input, { onceKey })).toEqual(
    first,
  );
});

it("any client names its calls by the header Idempotency-Key; without one nothing runs", async () => {
  const call = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}/test.v1.Http/charge`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ amount: "3", at: at.toISOString() }),
    });
  const without = await call({});
  expect(without.status).toBe(400);
  expect(await without.json()).toMatchObject({ code: "invalid_argument" });
  const key = createOnceKey();
  const first = await call({ "Idempotency-Key": key });
  // As a string of structured fields.
  const second = await call({ "Idempotency-Key": `"${key}"` });
  expect(await second.json()).toEqual(await first.json());
  expect(second.headers.get("idempotent-replayed")).toBe("true");
});
