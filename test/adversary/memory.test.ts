// What a peer can make a default server hold: by what it does not read, does not finish, or writes small and means large.
import { afterAll, describe, expect, it, vi } from "vitest";
import { Attacker, type AttackerStream, call, frame, FrameKind, pause, uint } from "./bytes.js";
import { methods } from "./contract.js";
import { MIB, schemes, Victim, withstand } from "./harness.js";

/** Half of what a container of 512 MiB has beside the process itself. */
const PEAK = 200 * MIB;

let victim: Victim | undefined;
afterAll(() => victim?.stop());

/** The one before, unless an attack has killed it. */
async function living(): Promise<Victim> {
  if (victim?.alive !== true) victim = await Victim.start();
  return victim;
}

/** Runs one attacker's program over a scheme. */
async function attacked(scheme: string, program: (attacker: Attacker) => Promise<void>): Promise<void> {
  const server = await living();
  const attack = async (): Promise<void> => {
    const attacker = new Attacker(await server.transport(scheme));
    await program(attacker);
    await pause(200);
    attacker.close();
  };
  await withstand(server, attack, { peak: PEAK });
}

describe.each(schemes)("over %s", (scheme) => {
  it("an attacker speaks the protocol: its calls are answered", () =>
    attacked(scheme, async (attacker) => {
      const [lane] = attacker.lanes(1) as [AttackerStream];
      await lane.write(frame(FrameKind.request, 0, call(methods.bytes, uint(100_000))));
      await vi.waitFor(() => expect(lane.received).toBeGreaterThan(100_000));
    }));

  it("frames that never end", () =>
    attacked(scheme, async (attacker) => {
      const most = new Uint8Array(4_000_000);
      for (const lane of attacker.lanes(60)) {
        await lane.write(frame(FrameKind.request, 0, call(methods.echo), 4_100_000));
        await lane.write(most);
      }
    }));
});
