// Response metadata and trailers that HTTP cannot carry.
import { type CallContext, RpcError } from "@quicrpc/core";
import { httpTransport } from "@quicrpc/http";
import { describe, expect, it } from "vitest";
import { createHttpClient } from "./generated/http.js";
import { servingInTests } from "./service.js";

const served = servingInTests();

const unsendable: readonly (readonly [what: string, set: (context: CallContext) => void])[] = [
  ["a header of HTTP", ({ responseMetadata }) => responseMetadata.append("connection", "close")],
  ["text that is not ASCII", ({ responseMetadata }) => responseMetadata.append("x-text", "größe")],
  ["a trailer with the name of a header of HTTP", ({ trailers }) => trailers.append("connection", "close")],
];

async function failure(call: Promise<unknown>): Promise<unknown> {
  return call.then(() => undefined).catch((error: unknown) => error);
}

async function collect(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

describe.each(unsendable)("%s in response metadata", (_, set) => {
  it.each(["unary", "server stream", "client stream"])(
    "fails a %s call as internal, and is reported once",
    async (kind) => {
      const { url, errors } = await served({
        interceptors: [
          (call, next) => {
            if (call.context !== undefined) set(call.context);
            return next(call);
          },
        ],
      });
      const caller = httpTransport({ fetch }).caller(new URL(url).origin);
      const client = createHttpClient(caller);
      const call =
        kind === "unary"
          ? client.echo({ text: "a" })
          : kind === "server stream"
            ? collect(client.items({ n: 2 }))
            : client.sum([1, 2]);
      expect(await failure(call)).toMatchObject({ code: "internal", message: "the handler failed" });
      expect(errors).toEqual([expect.stringContaining("Error: the response metadata cannot be sent over HTTP: ")]);
      caller.close();
    },
  );

  it("is left out of an error that the handler threw, and is reported once", async () => {
    const { url, errors } = await served({
      interceptors: [
        (call) => {
          if (call.context !== undefined) set(call.context);
          throw new RpcError("aborted", "as told");
        },
      ],
    });
    const caller = httpTransport({ fetch }).caller(new URL(url).origin);
    const client = createHttpClient(caller);
    for (const call of [client.echo({ text: "a" }), collect(client.items({ n: 2 }))]) {
      expect(await failure(call)).toMatchObject({ code: "aborted", message: "as told" });
    }
    expect(errors).toHaveLength(2);
    caller.close();
  });
});
