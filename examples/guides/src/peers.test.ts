import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Router } from "@quicrpc/core";
import { devCertificate } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { createArithClient, createArithRouter } from "./generated/arith.js";
import { meet, serveMeetings } from "./peers.js";
import { programOn } from "./program.js";

function arithTimes(factor: number): Router {
  return createArithRouter({
    multiply: ({ a, b }) => ({ pro: factor * a * b }),
    divide: ({ a, b }) => ({ quo: a / b }),
  });
}

it("connects two peers, of which each calls the other", async () => {
  const certificate = await devCertificate();
  const server = await serveMeetings({ listen: "quic://127.0.0.1:0", tls: certificate });
  onTestFinished(async () => void (await server.close()));
  const port = Number(new URL(server.urls[0] ?? "").port);
  const at = { host: "127.0.0.1", port, hash: certificate.hash.value };
  const common = { at, room: "garden", signal: AbortSignal.timeout(15_000) };
  const [one, other] = await Promise.all([
    meet({ ...common, routers: [arithTimes(1)] }),
    meet({ ...common, routers: [arithTimes(10)] }),
  ]);
  onTestFinished(async () => void (await one.close()));
  expect(await createArithClient(one).multiply({ a: 2, b: 3 })).toEqual({ pro: 60 });
  expect(await createArithClient(other).multiply({ a: 2, b: 3 })).toEqual({ pro: 6 });
});

it("ends the attempt of a peer that is alone, and forgets it", async () => {
  const certificate = await devCertificate();
  const server = await serveMeetings({ listen: "quic://127.0.0.1:0", tls: certificate });
  onTestFinished(async () => void (await server.close()));
  const port = Number(new URL(server.urls[0] ?? "").port);
  const at = { host: "127.0.0.1", port, hash: certificate.hash.value };
  const controller = new AbortController();
  const alone = meet({ at, room: "garden", routers: [], signal: controller.signal });
  await expect.poll(() => server.stats().handlers).toBe(1);
  controller.abort();
  await expect(alone).rejects.toThrow("the call was cancelled");
  await expect.poll(() => server.stats().handlers).toBe(0);
});

/** Why NATs cannot be simulated here; undefined if they can. */
function obstacle(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs Linux and root, for network namespaces";
  for (const [command, name] of [
    ["ip", "iproute2"],
    ["nft", "nftables"],
  ] as const)
    if (spawnSync(command, ["-V"]).error !== undefined) return `needs ${command}: apt-get install ${name}`;
  return undefined;
}

const missing = obstacle();

it.skipIf(missing !== undefined)(
  `connects peers behind two NATs${missing === undefined ? "" : ` (${missing})`}`,
  async () => {
    const net = `quicrpc-${process.pid}`;
    const [meeting, natA, natB, peerA, peerB] = ["m", "na", "nb", "a", "b"].map((name) => `${net}-${name}`) as [
      string,
      string,
      string,
      string,
      string,
    ];
    const ip = (...args: string[]): unknown => execFileSync("ip", args);
    const inside = (space: string, ...command: string[]): unknown => ip("netns", "exec", space, ...command);
    for (const space of [meeting, natA, natB, peerA, peerB]) {
      ip("netns", "add", space);
      onTestFinished(() => void ip("netns", "delete", space));
      inside(space, "ip", "link", "set", "lo", "up");
    }
    /** Connects two namespaces by a cable. */
    const cable = (one: string, its: string, other: string, others: string): void => {
      ip("-n", one, "link", "add", its, "type", "veth", "peer", "name", others, "netns", other);
      ip("-n", one, "link", "set", its, "up");
      ip("-n", other, "link", "set", others, "up");
    };
    // The internet is a bridge where the meeting is, with the public side of each NAT.
    ip("-n", meeting, "link", "add", "internet", "type", "bridge");
    ip("-n", meeting, "link", "set", "internet", "up");
    ip("-n", meeting, "address", "add", "203.0.113.1/24", "dev", "internet");
    for (const [nat, peer, address] of [
      [natA, peerA, "203.0.113.2"],
      [natB, peerB, "203.0.113.3"],
    ] as const) {
      const port = nat === natA ? "port-a" : "port-b";
      cable(meeting, port, nat, "public");
      ip("-n", meeting, "link", "set", port, "master", "internet");
      cable(nat, "private", peer, "uplink");
      ip("-n", nat, "address", "add", `${address}/24`, "dev", "public");
      ip("-n", nat, "address", "add", "192.168.1.1/24", "dev", "private");
      ip("-n", peer, "address", "add", "192.168.1.2/24", "dev", "uplink");
      ip("-n", peer, "route", "add", "default", "via", "192.168.1.1");
      inside(nat, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1");
      // A home router: it translates addresses, and drops packets from outside that answer nothing.
      inside(
        nat,
        "nft",
        `table ip home {
        chain translate { type nat hook postrouting priority srcnat; oifname "public" masquerade; }
        chain inbound { type filter hook input priority 0; iifname "public" ct state new drop; }
        chain through { type filter hook forward priority 0; iifname "public" ct state new drop; }
      }`,
      );
    }

    const program = await programOn(4433, "peer-program.ts");
    const start = (space: string, ...args: string[]) => {
      const child = spawn("ip", ["netns", "exec", space, process.execPath, program, ...args], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      onTestFinished(async () => {
        if (child.exitCode !== null) return;
        child.kill();
        await once(child, "exit");
      });
      const line = once(createInterface(child.stdout), "line").then(([text]) => text as string);
      return { child, line };
    };
    const hash = await start(meeting, "meeting", "203.0.113.1").line;
    const a = start(peerA, "peer", "203.0.113.1", hash, "6", "7");
    const b = start(peerB, "peer", "203.0.113.1", hash, "2", "3");
    expect(await Promise.all([a.line, b.line])).toEqual(["203.0.113.3 42", "203.0.113.2 6"]);
    a.child.stdin.end();
    b.child.stdin.end();
    await Promise.all([once(a.child, "exit"), once(b.child, "exit")]);
  },
  60_000,
);
