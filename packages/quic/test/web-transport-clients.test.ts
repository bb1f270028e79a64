import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { WebTransportSession } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { bytes, deferred, DRIVERS, echo, World } from "./harness.js";
import { CONNECT } from "./http3-bytes.js";
import { Http3Client } from "./http3-client.js";

const ENABLE_CONNECT_PROTOCOL = 0x08;
const DATAGRAMS = 0x33;
const DATAGRAMS_DRAFT04 = 0xffd277;
const DRAFT02 = 0x2b603742;
const DRAFT07 = 0xc671706a;
const DRAFT13 = 0x14e9cd29;
const ENABLED = 0x2c7cf000;
const INITIAL_MAX_DATA = 0x2b61;
const INITIAL_MAX_STREAMS_UNI = 0x2b64;
const INITIAL_MAX_STREAMS_BIDI = 0x2b65;
const MAX_DATA = 0x190b4d3d;
const MAX_STREAMS_BIDI = 0x190b4d3f;
const MAX_STREAMS_UNI = 0x190b4d40;
const DATA_BLOCKED = 0x190b4d41;
const STREAMS_BLOCKED_BIDI = 0x190b4d43;
const STREAMS_BLOCKED_UNI = 0x190b4d44;

/** A client of docs/browsers.md's table: what it says, and what it wants to hear. */
interface Client {
  readonly settings: Readonly<Record<number, number>>;
  readonly fields?: Readonly<Record<string, string>>;
  /** Settings of the server that it looks at. A session is refused where this is false. */
  readonly accepts: (settings: ReadonlyMap<number, number>) => boolean;
  readonly capsules?: readonly number[];
}

const isOn = (settings: ReadonlyMap<number, number>, ...ids: number[]): boolean =>
  ids.every((id) => settings.get(id) === 1);
const hasLimits = (settings: ReadonlyMap<number, number>): boolean =>
  [INITIAL_MAX_DATA, INITIAL_MAX_STREAMS_UNI, INITIAL_MAX_STREAMS_BIDI].every((id) => (settings.get(id) ?? 0) > 0);
const RECENT = { ":protocol": "webtransport-h3" };

const CLIENTS: Readonly<Record<string, Client>> = {
  Chromium: {
    settings: { 1: 65536, 6: 262144, 7: 100, [DATAGRAMS]: 1, [DATAGRAMS_DRAFT04]: 1, [DRAFT02]: 1 },
    fields: { "sec-webtransport-http3-draft02": "1", origin: "https://a" },
    accepts: (settings) => isOn(settings, ENABLE_CONNECT_PROTOCOL, DATAGRAMS, DRAFT02),
  },
  "Firefox until its HTTP/3 of August 2026": {
    settings: { 1: 65536, 7: 20, [DRAFT02]: 1, [DATAGRAMS_DRAFT04]: 1, [DATAGRAMS]: 1, [ENABLE_CONNECT_PROTOCOL]: 1 },
    fields: { "sec-webtransport-http3-draft02": "1", origin: "https://a" },
    // Each of these above 1 is an error of the connection there.
    accepts: (settings) => isOn(settings, DRAFT02, DATAGRAMS, DATAGRAMS_DRAFT04, ENABLE_CONNECT_PROTOCOL),
  },
  "Firefox with draft-15": {
    settings: { 1: 65536, 7: 20, [ENABLED]: 1, [DATAGRAMS_DRAFT04]: 1, [DATAGRAMS]: 1, [ENABLE_CONNECT_PROTOCOL]: 1 },
    fields: { ...RECENT, origin: "https://a" },
    accepts: (settings) => isOn(settings, ENABLED, DATAGRAMS) && (settings.get(DRAFT07) ?? 0) <= 1,
  },
  "Safari 26.4": {
    settings: {
      1: 16383,
      7: 100,
      [DATAGRAMS]: 1,
      0x1d1e6bb27c: 5,
      [DRAFT07]: 1,
      [DRAFT13]: 1,
      [INITIAL_MAX_DATA]: 8388608,
      [INITIAL_MAX_STREAMS_UNI]: 100,
      [INITIAL_MAX_STREAMS_BIDI]: 100,
    },
    fields: { origin: "https://a", "wt-available-protocols": "" },
    accepts: (settings) => {
      const sessions = settings.get(DRAFT13) ?? 0;
      return sessions >= 1 && (sessions === 1 || hasLimits(settings)) && !settings.has(DRAFT07);
    },
    capsules: [MAX_STREAMS_BIDI, MAX_STREAMS_UNI, MAX_DATA],
  },
  "webtransport-go until 0.10, aioquic": {
    settings: { [DATAGRAMS]: 1, [DRAFT02]: 1 },
    accepts: (settings) => isOn(settings, ENABLE_CONNECT_PROTOCOL, DATAGRAMS, DRAFT02),
  },
  "webtransport-go from 0.11 on": {
    settings: { [DATAGRAMS]: 1, [ENABLED]: 1 },
    fields: RECENT,
    accepts: (settings) => isOn(settings, ENABLE_CONNECT_PROTOCOL, DATAGRAMS, ENABLED),
  },
  "webtransport-go 0.12 with limits": {
    settings: {
      [DATAGRAMS]: 1,
      [ENABLED]: 1,
      [INITIAL_MAX_DATA]: 1 << 20,
      [INITIAL_MAX_STREAMS_UNI]: 100,
      [INITIAL_MAX_STREAMS_BIDI]: 100,
    },
    fields: RECENT,
    accepts: (settings) => isOn(settings, ENABLE_CONNECT_PROTOCOL, DATAGRAMS, ENABLED) && hasLimits(settings),
  },
  "quiche and what is built on it": {
    settings: { [DATAGRAMS]: 1, [DATAGRAMS_DRAFT04]: 1, [DRAFT02]: 1, [DRAFT07]: 16, [ENABLE_CONNECT_PROTOCOL]: 1 },
    fields: { "sec-webtransport-http3-draft02": "1" },
    accepts: (settings) => isOn(settings, ENABLE_CONNECT_PROTOCOL, DATAGRAMS, DRAFT02),
  },
};

describe.each(DRIVERS)("clients of other drafts, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  /** A raw client of a server that hands its sessions to `onSession`. */
  async function client(
    settings: Readonly<Record<number, number>>,
    onSession: (session: WebTransportSession) => void,
  ): Promise<Http3Client> {
    world.certificate = await certificate();
    const server = world.bind();
    server.listen({ tls: world.certificate, webTransport: {} }, (session) => onSession(session as WebTransportSession));
    return new Http3Client(await world.dial(server, { alpn: ["h3"] }), settings);
  }

  test.each(Object.entries(CLIENTS))("%s", async (_, { settings, fields, accepts, capsules = [] }) => {
    const peer = await client(settings, echo);
    expect(accepts(await peer.settings)).toBe(true);
    const request = peer.connect({ ...CONNECT, ...fields });
    await request.answered();
    const stream = peer.open(0, bytes("hello"), true);
    expect(await stream.until(({ data }) => (data.length === 5 ? data.toString() : undefined))).toBe("hello");
    // They come with the answer.
    expect(request.capsules.map(([kind]) => kind)).toEqual(capsules);
    const granted = [INITIAL_MAX_STREAMS_BIDI, INITIAL_MAX_STREAMS_UNI, INITIAL_MAX_DATA];
    for (const [at, [, value]] of request.capsules.entries()) {
      expect(value).toBeGreaterThan((await peer.settings).get(granted[at] as number) as number);
    }
  });

  const LIMITED = { [DATAGRAMS]: 1, [ENABLED]: 1, [INITIAL_MAX_DATA]: 1000, [INITIAL_MAX_STREAMS_BIDI]: 1 };

  test("a client's limits of streams and data hold until its capsules raise them", async () => {
    const served = deferred<WebTransportSession>();
    const peer = await client(LIMITED, served.resolve);
    const request = peer.connect({ ...CONNECT, ...RECENT });
    await request.answered();
    const session = await served.promise;
    const streams = ["a", "b", "c"].map((name) => {
      const stream = session.openStream();
      stream.write(new Uint8Array(1500).fill(name.charCodeAt(0)), true);
      return stream;
    });
    const uni = session.openUniStream();
    uni.write(bytes("u"), true);
    expect(await request.capsule(STREAMS_BLOCKED_BIDI)).toBe(1);
    expect(await request.capsule(STREAMS_BLOCKED_UNI)).toBe(0);
    expect(await request.capsule(DATA_BLOCKED)).toBe(1000);
    const [first] = await peer.opened(1);
    // The header of three bytes is not counted.
    await first?.until(({ data }) => (data.length === 3 + 1000 ? true : undefined));

    request.send(MAX_DATA, 4500);
    await first?.until(({ data }) => (data.length === 3 + 1500 ? true : undefined));
    expect(peer.streams).toHaveLength(1);
    // One that is reset while it waits takes no place.
    streams[1]?.reset(7);
    streams[1]?.stopSending(7);
    request.send(MAX_STREAMS_BIDI, 2);
    const second = (await peer.opened(2))[1];
    await second?.until(({ data }) => (data.length === 3 + 1500 ? true : undefined));
    expect(second?.data.at(-1)).toBe("c".charCodeAt(0));
    request.send(MAX_STREAMS_UNI, 1);
    const third = (await peer.opened(3))[2];
    await third?.until(({ data }) => (data.at(-1) === "u".charCodeAt(0) ? true : undefined));
  });

  test("data that a session may not send yet ends with the session, and streams that wait too", async () => {
    const served = deferred<WebTransportSession>();
    const peer = await client(LIMITED, served.resolve);
    const request = peer.connect({ ...CONNECT, ...RECENT });
    await request.answered();
    const session = await served.promise;
    const ends = [0, 1].map(() => {
      const closed = deferred<unknown>();
      const stream = session.openStream();
      stream.attach({
        onData() {},
        onEnd() {},
        onReset() {},
        onStopSending() {},
        onDrain() {},
        onClosed: closed.resolve,
      });
      stream.write(new Uint8Array(1500));
      return closed.promise;
    });
    await request.capsule(STREAMS_BLOCKED_BIDI);
    request.stream.write(new Uint8Array(0), true);
    await Promise.all(ends);
    await session.closed;
  });

  test("a limit that shrinks ends the session with WT_FLOW_CONTROL_ERROR", async () => {
    const served = deferred<WebTransportSession>();
    const peer = await client(LIMITED, served.resolve);
    const request = peer.connect({ ...CONNECT, ...RECENT });
    await request.answered();
    request.send(MAX_DATA, 999);
    expect(await request.until(({ resetCode }) => resetCode)).toBe(0x045d4487);
    await (await served.promise).closed.catch(() => {});
  });

  test("a request that overtakes the client's SETTINGS waits for them", async () => {
    world.certificate = await certificate();
    const server = world.bind();
    server.listen({ tls: world.certificate, webTransport: {} }, echo);
    const session = await world.dial(server, { alpn: ["h3"] });
    const late = new Http3Client(session);
    const request = late.connect({ ...CONNECT, ...RECENT });
    const stream = late.open(0, bytes("early"), true);
    await late.settings;
    expect(request.data).toHaveLength(0);
    late.tell({ [DATAGRAMS]: 1, [ENABLED]: 1 });
    await request.answered();
    expect(await stream.until(({ data }) => (data.length === 5 ? data.toString() : undefined))).toBe("early");
  });
});
