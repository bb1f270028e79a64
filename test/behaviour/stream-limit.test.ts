import { afterEach, describe, expect, it } from "vitest";
import { kindsFor, type Pair } from "./kinds.js";
import { methods } from "./service.js";

/** Streams that the server lets the client open, and calls that would each need one. */
const STREAMS = 4;
const CALLS = 20;

const limited = kindsFor("C65");

it("is a behaviour of the kinds that do not except it", ({ skip }) => {
  skip(limited.length === 0, "no kind here has a limit of streams");
  expect(limited.filter(({ exceptions }) => exceptions?.has("C65"))).toEqual([]);
});

describe.each(limited)("the peer's stream limit: $name", (kind) => {
  let pair: Pair;
  afterEach(() => pair.close());

  it("C65 the peer's stream limit is reached: calls wait, none fails", async () => {
    pair = await kind.connect(undefined, { maxStreams: STREAMS });
    const { client, witness } = pair;
    const begun = (): string[] => witness.events.filter((event) => event.startsWith("wait "));
    await client.unary(methods.echo, { text: "opens the lane" }, { via: "lane" });
    const names = Array.from({ length: CALLS }, (_, i) => String(i));
    const calls = names.map((text) => client.unary(methods.wait, { text }, { via: "stream" }));
    // One more call in progress would show within these round trips.
    await witness.until("wait 0");
    for (let i = 0; i < 20; i++) await client.unary(methods.echo, { text: "tick" }, { via: "lane" });
    expect(begun().length).toBeGreaterThan(0);
    expect(begun().length).toBeLessThanOrEqual(STREAMS);
    for (const name of names) {
      await witness.until(`wait ${name}`);
      witness.release.get(name)?.();
    }
    expect(await Promise.all(calls)).toEqual(names.map((text) => ({ text })));
    // Each once; streams that are open at the same time have no order.
    expect(begun().toSorted()).toEqual(names.map((name) => `wait ${name}`).toSorted());
  });

  it("C65 where nothing shares a lane, calls beyond the limit go on as others end", async () => {
    pair = await kind.connect(undefined, { maxStreams: STREAMS });
    const { client, witness } = pair;
    const names = Array.from({ length: CALLS }, (_, i) => String(i));
    const calls = names.map((text) => client.unary(methods.wait, { text }, { via: "stream" }));
    for (const name of names) {
      await witness.until(`wait ${name}`);
      witness.release.get(name)?.();
    }
    expect(await Promise.all(calls)).toEqual(names.map((text) => ({ text })));
  });
});
