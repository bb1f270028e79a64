// The first message of a QUIC client takes two datagrams, since it has a share of X25519MLKEM768.
import type { ChildProcess } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { createSession } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { devCertificate } from "@quicrpc/node";
import { Endpoint } from "@quicrpc/quic";
import { afterEach, describe, expect, it } from "vitest";
import { startProgram } from "../../../test/child-program.js";
import { closedAfterEach } from "../../../test/open.js";

const PROGRAM = new URL("forked-workers.program.ts", import.meta.url);
const HOST = "127.0.0.1";
const LISTEN = `quic://${HOST}:0`;
/** Datagrams with Initial packets of a client have at least this many bytes (RFC 9000 §14.1). */
const INITIAL_BYTES = 1200;
const pid = defineMethod({ name: "test.v1.Forked", id: 7052 }, "unary", "pid", {
  id: 1,
  output: uncheckedCodec<number>(),
});

const open = closedAfterEach();
let child: ChildProcess | undefined;
afterEach(async () => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
});

/** A path to the port that loses those datagrams of the client with Initial packets that have the numbers in `lost`. */
async function pathTo(port: number, lost: readonly number[]): Promise<Socket> {
  const path = createSocket("udp4");
  open.push({ close: () => new Promise<void>((closed) => path.close(closed)) });
  let client = 0;
  let initials = 0;
  path.on("message", (datagram, from) => {
    if (from.port === port) {
      path.send(datagram, client, HOST);
      return;
    }
    client = from.port;
    const isLost = datagram.length >= INITIAL_BYTES && lost.includes(initials++);
    if (!isLost) path.send(datagram, port, HOST);
  });
  path.bind(0, HOST);
  await once(path, "listening");
  return path;
}

describe.skipIf(process.platform !== "linux").each(["kernel", "relay"])("steering by the %s", (steering) => {
  it.each([
    ["", {}, [[], [0], [1], [0, 1]]],
    [", after a Retry", { advanced: { transport: { retryThreshold: 0 } } }, [[], [0], [1], [0, 1], [2], [3], [2, 3]]],
  ])("both halves of a hello reach one worker, also if one is lost%s", async (_, options, losses) => {
    const { cert, key, hash } = await devCertificate();
    const started = await startProgram<{ ports: [number]; pids: number[] }>(PROGRAM, {
      steering,
      size: 3,
      shared: { listen: LISTEN, places: 4 },
      served: { listen: LISTEN, tls: { cert, key }, ...options },
    });
    child = started.child;
    const { ports, pids } = started.message;
    const dialled = losses.map(async (lost) => {
      const path = await pathTo(ports[0], lost);
      const endpoint = Endpoint.bind({ host: HOST });
      open.push(endpoint);
      const transport = await endpoint.connect({
        host: HOST,
        port: path.address().port,
        alpn: ["quicrpc/1"],
        tls: { serverCertificateHashes: [hash] },
      });
      expect(transport.stats().keyExchangeGroup).toBe("X25519MLKEM768");
      expect(pids).toContain(await createSession(transport).unary(pid, undefined));
    });
    await Promise.all(dialled);
  });
});
