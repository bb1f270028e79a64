// What a peer can make a default server hold: by what it does not read, does not finish, or writes small and means large.
import { describe, expect, it, vi } from "vitest";
import {
  Attacker,
  type AttackerStream,
  call,
  callWithMetadata,
  FLAG_HEAD,
  frame,
  FrameKind,
  pause,
  uint,
} from "./bytes.js";
import { methods } from "./contract.js";
import { MIB, schemes, sharedVictim, Victim, withstand } from "./harness.js";

/** Half of what a container of 512 MiB has beside the process itself. */
const PEAK = 200 * MIB;
const living = sharedVictim();

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
      await attacker.onLanes(60, async (lane) => {
        await lane.write(frame(FrameKind.request, 0, call(methods.echo), 4_100_000));
        await lane.write(most);
      });
    }));

  it("answers that nobody reads, on many lanes", () =>
    attacked(scheme, async (attacker) => {
      const requests = (id: number) => frame(FrameKind.request, id, call(methods.bytes, uint(4_000_000)));
      await attacker.onLanes(60, async (lane) => {
        lane.deafen();
        for (let id = 0; id < 20; id += 2) await lane.write(requests(id));
      });
      await pause(500);
    }));

  it("answers that nobody reads, on streams of their own", () =>
    attacked(scheme, async (attacker) => {
      if (!hasStreams(scheme)) return;
      const request = frame(FrameKind.request, 0, call(methods.bytes, uint(4_000_000)));
      for (let i = 0; i < 90; i++)
        await attacker
          .stream([0x01, ...request])
          .deafen()
          .write(new Uint8Array(0));
      await pause(500);
    }));

  it("pings whose answers nobody reads", () =>
    attacked(scheme, async (attacker) => {
      const pings = Buffer.concat(Array.from({ length: 4096 }, () => frame(FrameKind.ping, 0, new Uint8Array(8))));
      await attacker.onLanes(8, async (lane) => {
        lane.deafen();
        for (let sent = 0; sent < 300 * MIB && (await lane.write(pings)); sent += pings.length);
      });
    }));

  it("requests of empty maps, for handlers that run on", () =>
    attacked(scheme, async (attacker) => {
      // An array of a million empty maps.
      const maps = new Uint8Array(1_000_005).fill(0x80);
      maps.set([0xdd, 0x00, 0x0f, 0x42, 0x40]);
      await attacker.onLanes(8, async (lane) => {
        for (let id = 0; id < 8; id += 2) {
          if (!(await lane.write(frame(FrameKind.request, id, call(methods.keep, maps))))) break;
        }
      });
      await pause(500);
    }));

  it("metadata of thousands of entries, for handlers that look at it and run on", () =>
    attacked(scheme, async (attacker) => {
      const body = callWithMetadata(methods.hang, 5400);
      await attacker.onLanes(4, async (lane) => {
        for (let id = 0; id < 2000; id += 2) {
          if (!(await lane.write(frame(FrameKind.request | FLAG_HEAD, id, body)))) break;
        }
      });
      await pause(500);
    }));

  it("messages of a million issues", () =>
    attacked(scheme, async (attacker) => {
      // { tags: [1, 1, …] }, where strings are wanted.
      const head = [0x81, 0xa4, 0x74, 0x61, 0x67, 0x73, 0xdd, 0x00, 0x0f, 0x42, 0x40];
      const payload = new Uint8Array(head.length + 1_000_000).fill(0x01);
      payload.set(head);
      const [lane] = attacker.lanes(1) as [AttackerStream];
      for (let id = 0; id < 8; id += 2) {
        if (!(await lane.write(frame(FrameKind.request, id, call(methods.strict, payload))))) break;
      }
    }));

  it("items of a byte that nobody reads", () =>
    attacked(scheme, async (attacker) => {
      await attacker.onLanes(20, async (lane) => {
        for (let id = 0; id < 40; id += 2) {
          await lane.write(frame(FrameKind.request, id, call(methods.ignore)));
          const items = Buffer.concat(Array.from({ length: 2000 }, () => frame(FrameKind.item, id, [0])));
          if (!(await lane.write(items))) break;
        }
      });
      await pause(500);
    }));

  it("handlers that run until their callers are gone, of calls that are cancelled at once", () =>
    attacked(scheme, async (attacker) => {
      await attacker.onLanes(4, async (lane) => {
        for (let id = 0; id < 4000; id += 2) {
          const cancelled = [...frame(FrameKind.request, id, call(methods.hang)), ...frame(FrameKind.cancel, id, [1])];
          if (!(await lane.write(Uint8Array.from(cancelled)))) break;
        }
      });
      await pause(500);
    }));
});

function hasStreams(scheme: string): boolean {
  return scheme === "quic:" || scheme === "https:";
}

// What is counted is counted above transports: one with streams of its own, and one without.
describe.each(schemes.filter((scheme) => scheme === "quic:" || scheme === "tcp:"))(
  "over %s, many sessions",
  (scheme) => {
    it("each holds what one may: others go on being served", async () => {
      const server = await living();
      const attack = async (): Promise<void> => {
        const attackers = await Promise.all(
          Array.from({ length: 6 }, async () => new Attacker(await server.transport(scheme))),
        );
        const strings = new Uint8Array(3_900_000);
        const keeping = async (lane: AttackerStream): Promise<void> => {
          for (let id = 0; id < 10; id += 2) {
            await lane.write(frame(FrameKind.request, id, call(methods.keepBytes, strings)), 200);
          }
        };
        await Promise.all(attackers.map((attacker) => attacker.onLanes(1, keeping)));
        await pause(500);
        for (const attacker of attackers) attacker.close();
      };
      await withstand(server, attack, { peak: PEAK });
    });
  },
);

// Greetings are read above transports, too.
it("greetings full of small entries, of sessions that stay", async () => {
  const server = await Victim.start({ schemes: ["tcp:"], authenticate: "reads" });
  const metadata = Array.from({ length: 3800 }, (_, n) => ["ab"[n % 2] as string, "x"] as const);
  const attack = async (): Promise<void> => {
    const sessions = [];
    for (let count = 0; count < 800; count++) sessions.push(await server.dial("tcp:", { advanced: { metadata } }));
    await pause(300);
    await Promise.all(sessions.map((session) => session.close({ closeCode: 1 })));
  };
  try {
    await withstand(server, attack, { peak: 100 * MIB });
  } finally {
    await server.stop();
  }
});

it("the default onError writes little, however much it is given to write", async () => {
  const server = await living();
  const [scheme = ""] = schemes;
  const { written } = server;
  const attack = async (): Promise<void> => {
    const attacker = new Attacker(await server.transport(scheme));
    const [lane] = attacker.lanes(1) as [AttackerStream];
    const nasty = new TextEncoder().encode("\u001b]0;owned\u0007".repeat(10));
    const note = frame(FrameKind.notify, 0, call(methods.note, [0xda, 0, nasty.length, ...nasty]));
    for (let i = 0; i < 2000; i++) await lane.write(note);
    await pause(300);
    attacker.close();
  };
  await withstand(server, attack, { peak: PEAK });
  expect(server.written - written).toBeLessThan(100_000);
});
