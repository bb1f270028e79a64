import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import type { Session } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { distinctKinds, type Pair } from "./kinds.js";
import { methods } from "./service.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Partly", id: 4711 };
const text = zodCodec(z.string());
const both = { input: text, output: text };
const partly = {
  served: defineMethod(service, "unary", "served", { id: 1, ...both }),
  unary: defineMethod(service, "unary", "unary", { id: 2, ...both }),
  notify: defineMethod(service, "notify", "notify", { id: 3, input: text }),
  download: defineMethod(service, "server_stream", "download", { id: 4, ...both }),
  upload: defineMethod(service, "client_stream", "upload", { id: 5, ...both }),
  talk: defineMethod(service, "duplex", "talk", { id: 6, ...both }),
};

describe.each(distinctKinds)("a service served in part: $name", (kind) => {
  let pair: Pair;
  let client: Session;
  beforeEach(async () => {
    const router = createRouter({ served: partly.served }, { served: (input) => input });
    pair = await kind.connect(undefined, { server: { routers: [router] } });
    ({ client } = pair);
  });
  afterEach(() => pair.close());

  it.each(["lane", "stream"] as const)("C13 known method without a handler, by %s: unimplemented", async (via) => {
    const options = { via };
    const talk = client.duplex(partly.talk, options);
    const errors = await Promise.all([
      failure(client.unary(partly.unary, "a", options)),
      failure(collect(client.serverStream(partly.download, "a", options))),
      failure(client.clientStream(partly.upload, ["a", "b"], options)),
      failure(collect(talk.readable)),
    ]);
    expect(errors.map(({ code, message }) => ({ code, message }))).toEqual(
      [partly.unary, partly.download, partly.upload, partly.talk].map(({ name }) => ({
        code: "unimplemented",
        message: `service test.v1.Partly has no method ${name} here`,
      })),
    );
    // Of a request over HTTP its sender hears.
    const noted = client.notify(partly.notify, "a", options);
    if (kind.inHeaders === true) expect(await failure(noted)).toMatchObject({ code: "unimplemented" });
    else await noted;
    expect(await client.unary(partly.served, "lives", options)).toBe("lives");
    expect(await client.unary(methods.echo, { text: "lives" }, options)).toEqual({ text: "lives" });
  });
});
