// Whatever the network does: no call runs twice, none hangs, none is answered wrongly, and nothing is kept.
import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { block, cut, rebind, storm } from "./storm.js";

const engine = process.env["QUICRPC_NO_ENGINE"] === undefined;
/** Without encryption a bit that is turned over reaches the application: TCP's own checksum is all there is. */
const schemes = [...(engine ? ["quic:", "https:"] : []), "tls:", "wss:"];
const seconds = Number(process.env["QUICRPC_CHAOS_SECONDS"] ?? 4);
/** Whether this is `scripts/chaos.mjs`, and not the short form. */
const isLong = process.env["QUICRPC_CHAOS_LINKS"] !== undefined;
const seed = Number(process.env["QUICRPC_CHAOS_SEED"] ?? 1);

describe.each(schemes)("a bad network, over %s", (scheme) => {
  it.each([
    ["that loses, doubles, reorders, damages, moves and goes black", false],
    ["and a server that is killed", true],
  ])("%s", { timeout: seconds * 1000 + 120_000 }, async (_, kills) => {
    const account = await storm({ scheme, seed, ms: seconds * 1000, workers: 16, kills });
    const accounts = process.env["QUICRPC_CHAOS_ACCOUNTS"];
    if (accounts !== undefined) appendFileSync(accounts, `${JSON.stringify({ scheme, ...account })}\n`);
    expect(account).toMatchObject({ hung: 0, wrong: 0, twice: 0, untrue: 0, forgotten: 0 });
    expect(account.answered).toBeGreaterThan(0);
    expect(account.kept).toBeLessThan(16);
    // QUIC's own idle timeout is 30 s: nothing may have to wait for it.
    expect(account.recovered).toBeLessThan(10);
  });
});

/** Events on a link, the longest with 12 s for `scripts/chaos.mjs`. */
const steps = isLong
  ? [cut(500), cut(2000), cut(8000), rebind, block(0), block(3000), cut(12_000), rebind]
  : [cut(1000), rebind, block(0)];

describe.each(engine ? ["quic:", "https:"] : [])("a bad link, over %s", (scheme) => {
  it("that is cut, moves the client and forgets its flows", { timeout: 240_000 }, async () => {
    const account = await storm({ scheme, seed, ms: 0, workers: 16, kills: false, steps });
    const links = process.env["QUICRPC_CHAOS_LINKS"];
    if (links !== undefined) appendFileSync(links, `${JSON.stringify({ scheme, after: account.after })}\n`);
    expect(account).toMatchObject({ hung: 0, wrong: 0, twice: 0, untrue: 0, forgotten: 0 });
    expect(account.answered).toBeGreaterThan(0);
    // QUIC's own idle timeout is 30 s: nothing may have to wait for it.
    for (const { seconds: passed } of account.after) expect(passed).toBeLessThan(10);
  });
});
