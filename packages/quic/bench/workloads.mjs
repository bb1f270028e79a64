// Workloads of the benches on a session: through the direct interface, and through the W3C members.
import { on } from "./pair.mjs";

const SMALL = 32;
const CHUNK = new Uint8Array(65_536).fill(1);
const CHUNKS = 16_000;
export const GIGABYTES = (CHUNKS * CHUNK.length) / 1e9;

/** A server's side: echoes; a stream whose first byte is 1 is only counted, and answered with the count. */
export function answer(session) {
  session.attach({
    onStream(stream) {
      let counting;
      let bytes = 0;
      stream.attach(
        on({
          borrows: true,
          onData(chunk) {
            counting ??= chunk[0] === 1;
            bytes += chunk.length;
            if (!counting) stream.write(chunk);
          },
          onEnd: () => stream.write(counting ? new Uint8Array(Float64Array.of(bytes).buffer) : new Uint8Array(0), true),
        }),
      );
    },
    onClosed() {},
  });
}

/** `one` run `count` times, `inFlight` at once. */
async function times(count, inFlight, one) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

async function roundTrips(session, count) {
  const stream = session.openStream();
  const bytes = new Uint8Array(SMALL);
  let resolve;
  stream.attach(on({ borrows: true, onData: () => resolve() }));
  await times(
    count,
    1,
    () =>
      new Promise((done) => {
        resolve = done;
        stream.write(bytes);
      }),
  );
  stream.write(new Uint8Array(0), true);
}

const calls = (inFlight) => (session, count) => {
  const bytes = new Uint8Array(SMALL);
  return times(
    count,
    inFlight,
    () =>
      new Promise((resolve) => {
        const stream = session.openStream();
        stream.attach(on({ borrows: true, onEnd: resolve }));
        stream.write(bytes, true);
      }),
  );
};

function frames(session, count) {
  const inFlight = 512;
  const stream = session.openStream();
  const zeros = new Uint8Array(inFlight * SMALL * 4);
  let [sent, received, rest] = [inFlight, 0, 0];
  return new Promise((done) => {
    stream.attach(
      on({
        borrows: true,
        onData(chunk) {
          rest += chunk.length;
          const whole = Math.floor(rest / SMALL);
          rest -= whole * SMALL;
          received += whole;
          const more = Math.min(whole, count - sent);
          sent += more;
          if (more > 0) stream.write(zeros.subarray(0, more * SMALL));
          if (received >= count) done();
        },
      }),
    );
    stream.write(zeros.subarray(0, inFlight * SMALL));
  });
}

export function bulk(session) {
  const stream = session.openStream();
  return new Promise((done) => {
    let left = CHUNKS;
    const send = () => {
      while (left > 0) {
        left--;
        if (!stream.write(CHUNK, left === 0)) return;
      }
    };
    stream.attach(on({ onData: () => done(), onDrain: send }));
    send();
  });
}

export const direct = [
  { what: "sequential", name: "sequential round trips", count: 60_000, run: roundTrips },
  { what: "calls", name: "a stream per call, 1 in flight", count: 30_000, run: calls(1) },
  { what: "calls", name: "a stream per call, 64 in flight", count: 300_000, run: calls(64) },
  { what: "frames", name: "32-byte frames, 512 in flight", count: 4_000_000, run: frames },
  { what: "bulk", name: "one way, GB", count: GIGABYTES, run: bulk },
];

/** Those that a plain connection can do as well. */
export const oneStream = direct.filter(({ what }) => what !== "calls");

async function w3cRoundTrips(session, count) {
  const { readable, writable } = await session.createBidirectionalStream();
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  const bytes = new Uint8Array(SMALL);
  await times(count, 1, async () => {
    writer.write(bytes);
    await reader.read();
  });
  await writer.close();
}

const w3cCalls = (inFlight) => (session, count) => {
  const bytes = new Uint8Array(SMALL);
  return times(count, inFlight, async () => {
    const { readable, writable } = await session.createBidirectionalStream();
    const writer = writable.getWriter();
    writer.write(bytes);
    writer.close();
    const reader = readable.getReader();
    while (!(await reader.read()).done);
  });
};

async function w3cBulk(session) {
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  for (let left = CHUNKS; left > 0; left--) {
    await writer.ready;
    writer.write(CHUNK);
  }
  writer.close();
  await readable.getReader().read();
}

/** At the client; the server is the same. */
export const w3c = [
  { what: "sequential", name: "sequential round trips", count: 60_000, run: w3cRoundTrips },
  { what: "calls", name: "a stream per call, 1 in flight", count: 30_000, run: w3cCalls(1) },
  { what: "calls", name: "a stream per call, 64 in flight", count: 300_000, run: w3cCalls(64) },
  { what: "bulk", name: "one way, GB", count: GIGABYTES, run: w3cBulk },
];
