import { createSession, Metadata } from "@quicrpc/core";
import {
  type CallExtension,
  createRouter,
  defineMethod,
  describeMethod,
  uncheckedCodec,
  unaryCalls,
  withCallOptions,
} from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { expect, it } from "vitest";

const service = { name: "test.v1.Extended", id: 7107 };

/** Returns an extension that adds the metadata `name` to each call. */
function adding(name: string): CallExtension {
  return {
    name,
    kinds: ["unary"],
    servedBy: "none",
    calling: (calling) =>
      withCallOptions(calling, (options) => {
        const metadata = new Metadata(options?.metadata);
        metadata.set(name, "yes");
        return { ...options, metadata };
      }),
  };
}

it("changed options are passed to the calling code that is changed", async () => {
  const [a, b] = [adding("a"), adding("b")];
  const options = { id: 2, output: uncheckedCodec<string[]>() };
  const both = describeMethod(service, b.calling(a.calling(unaryCalls)) as typeof unaryCalls, "both", options);
  const served = defineMethod(service, "unary", "both", options);
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, {
    routers: [createRouter({ served }, { served: (_, { metadata }) => Array.from(metadata, ([key]) => key) })],
  });
  const session = createSession(ours);
  expect(await session.unary(both, undefined)).toEqual(["b", "a"]);
  await session.close();
});
