import { describe, expect, it } from "vitest";
import { type Layout, MeasuredLayout, layoutFor } from "./measured-layout.js";

const packets = (n: number): number => n * 1200;

describe("layoutFor", () => {
  it.each([
    ["nothing is lost", 0, 1000, "lane"],
    ["little is lost", 0.009, 1000, "lane"],
    ["the flight is small, at any loss", 0.2, 4, "lane"],
    ["5 packets, 1% lost", 0.01, 5, "lanes"],
    ["11 packets, 3% lost", 0.03, 11, "lanes"],
    ["12 packets, 1% lost", 0.01, 12, "stream"],
    ["200 packets, 3% lost", 0.03, 200, "stream"],
  ] as const)("%s", (_, loss, flight, layout) => {
    expect(layoutFor(loss, packets(flight))).toBe(layout);
  });
});

describe("MeasuredLayout", () => {
  it("measures every 256 calls: the loss of the last 200 packets or more, and the flight of now", () => {
    const stats = { rttMs: 0, sentPackets: 0, lostPackets: 0 };
    let measured = 0;
    const traffic = { sentBytes: 0 };
    let callsMade = 0;
    const chooser = new MeasuredLayout({
      direct: {
        stats: () => {
          measured++;
          return stats;
        },
      },
      callsMade: () => callsMade,
      settings: { traffic },
    });
    /** 256 calls of 120 bytes each, with so many packets in flight at the last. */
    const calls = (sentPackets: number, lostPackets: number, flight: number): Layout => {
      Object.assign(stats, { sentPackets, lostPackets });
      traffic.sentBytes += 256 * 120;
      callsMade = flight * 10;
      for (let i = 0; i < 255; i++) chooser.next();
      return chooser.next();
    };
    expect(calls(100, 50, 10)).toBe("lane");
    expect(calls(200, 50, 10)).toBe("lanes");
    expect(calls(300, 50, 10)).toBe("lanes");
    expect(calls(300, 50, 60)).toBe("stream");
    expect(calls(300, 50, 2)).toBe("lane");
    expect(calls(400, 51, 10)).toBe("lane");
    expect(measured).toBe(6);
  });
});
