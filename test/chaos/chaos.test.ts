// Whatever the network does: no call runs twice, none hangs, none is answered wrongly, and nothing is kept.
import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { storm } from "./storm.js";

const engine = process.env["QUICRPC_NO_ENGINE"] === undefined;
/** Without encryption a bit that is turned over reaches the application: TCP's own checksum is all there is. */
const schemes = [...(engine ? ["quic:", "https:"] : []), "tls:", "wss:"];
const seconds = Number(process.env["QUICRPC_CHAOS_SECONDS"] ?? 4);
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
