// Blobs need a session: over HTTP their methods say so.
import { blobCalls, createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { RpcError } from "@quicrpc/core";
import { createFetchHandler, httpTransport } from "@quicrpc/http";
import { expect, it } from "vitest";

const service = { name: "test.v1.HttpBlobs", id: 4732 };
const codec = uncheckedCodec<unknown>();
const methods = {
  put: defineMethod(service, "unary", "put", {
    id: 1,
    input: codec,
    output: codec,
    blobs: blobCalls({ input: [{ name: "file" }] }),
  }),
};

it("a client refuses a call with blobs before it sends anything", async () => {
  const caller = httpTransport().caller("http://127.0.0.1:1");
  await expect(caller.start(methods.put, { file: new Blob(["a"]) })).rejects.toMatchObject({
    code: "unimplemented",
    message: expect.stringContaining("test.v1.HttpBlobs/put has blobs"),
  });
});

it("a server refuses a request for such a method, of those who may call", async () => {
  let entered = false;
  const handle = createFetchHandler({
    routers: [createRouter(methods, { put: () => (entered = true) })],
    authenticate({ headers }) {
      if (headers.get("authorization") !== "Bearer good") throw new RpcError("unauthenticated", "who are you?");
    },
  });
  const ask = (token: string): Request =>
    new Request("http://127.0.0.1/test.v1.HttpBlobs/put", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ file: [0, 1, "", ""] }),
    });
  expect((await handle(ask("bad"))).status).toBe(401);
  const response = await handle(ask("good"));
  expect(response.status).toBe(501);
  expect(await response.json()).toMatchObject({ code: "unimplemented" });
  expect(entered).toBe(false);
});
