// Writes what JavaScript and the engine both have to know of the records and numbers between them, in both languages:
// `npm run layout [-- --check]`.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root } from "./setup.mjs";

/** Kinds of records, with their three words. A number that is free now is not used again. */
const kinds = {
  Stream: [1, "An accepted bidirectional stream: session index, stream index, stream generation."],
  Data: [2, "Received bytes: stream index, offset into the slab, length."],
  End: [3, "The peer's FIN: stream index, freed."],
  Reset: [4, "The peer's RESET_STREAM: stream index, freed, code."],
  Stopped: [5, "The peer's STOP_SENDING: stream index, freed, code."],
  Drain: [6, "A stream has room again: stream index."],
  Freed: [7, "The last pending bytes of a stream have gone and nothing remains of it: stream index."],
  StreamClosed: [8, "The session was lost before the stream ended: stream index, failure number."],
  Connected: [9, "Handshake complete, or WebTransport session granted: session index, generation, flags."],
  Lost: [10, "The session ended: session index, generation, failure number."],
  Closed: [11, "The endpoint's handles are closed."],
  Broken: [12, "The engine failed and has shut down."],
  UniStream: [13, "An accepted unidirectional stream: session index, stream index, stream generation."],
  Datagram: [14, "A datagram: session index, offset into the slab, length."],
  DatagramDrain: [15, "Datagrams may be sent again: session index, generation."],
  Asked: [16, "A client asks for a WebTransport session: session index, generation, connection index."],
  Draining: [17, "The peer asks to wind the session up (a server also a connection): session index, generation."],
  Silent: [18, "A dialled session's peer is silent: session index, generation, PINGs it did not answer."],
  HandshakeFailed: [20, "An accepted connection failed before it became a session, by TLS: failure number."],
  Requested: [22, "A client's request of plain HTTP: connection index, stream index, stream generation."],
  Sent: [23, "The peer has acknowledged all of a message: stream index, freed."],
  Answered: [24, "The head of a response: stream index, status."],
  Ready: [21, "A session that began early is established: session index, generation, early data taken."],
};

/** Numbers that both sides know. */
const constants = {
  RECORD_WORDS: [4, "32-bit words of one record: its kind, and three more.", "usize"],
  RECORDS: [1024, "Records of one batch.", "usize"],
  FLAG_HTTP3: [1, "Flag of `Connected`: the connection carries WebTransport sessions and is none itself."],
  FLAG_EARLY: [2, "Flag of `Connected`: the handshake is not yet complete; `Ready` follows."],
  EARLY_STREAM: [2 ** 31, "Above the bits of a stream's generation: it came before the handshake was complete."],
  FLAG_ABOVE_HIGH_WATER: [1, "Flag that a stream call returns: more is pending than the high-water mark."],
  FLAG_FREED: [2, "Flag that a stream call returns: both sides are done and the handle is void."],
  DATAGRAM_SENT: [0, "Returned by `sendDatagram`: it leaves. All that are not listed: it never will."],
  DATAGRAM_BLOCKED: [1, "Returned by `sendDatagram`: there is no room now; a `DatagramDrain` record follows."],
  INDEX_BITS: [24, "Bits of a handle that are the index in its table; the generation is above them."],
  WEB_TRANSPORT: [2 ** 23, "Indices of WebTransport sessions begin here; those of QUIC connections lie below."],
};

/** Lists of numbers that are passed in this order. */
const lists = {
  Settings: {
    text: "Settings of a transport, with their defaults resolved. Zero means off where a setting can be off.",
    from: "JavaScript",
    fields: [
      "idleTimeoutMs",
      "keepAliveIntervalMs",
      "maxStreams",
      "maxUniStreams",
      "maxStreamsCeiling",
      "streamReceiveWindow",
      "receiveWindow",
      "receiveWindowCeiling",
      "sendWindow",
      "highWaterMark",
      "initialRttMs",
      "maxAckDelayMs",
      "congestionControl",
      "redundancy",
      "maxUdpPayload",
      "datagramBuffer",
      "webTransportSessions",
      "maxSessions",
      "maxSessionsPerAddress",
      "maxHandshakes",
      "retryThreshold",
      "maxHandshakesPerAddress",
      "handshakeTimeoutMs",
      "manualAdmission",
      "plainRequests",
    ],
  },
  SessionStats: {
    text: "Counters of a session.",
    from: "engine",
    fields: [
      "rttMs",
      "minRttMs",
      "congestionWindow",
      "mtu",
      "sentPackets",
      "lostPackets",
      "copiedPackets",
      "congestionEvents",
      "sentBytes",
      "receivedBytes",
      "lostBytes",
      "sentUdpDatagrams",
      "receivedUdpDatagrams",
      "sentDatagrams",
      "receivedDatagrams",
      "openStreams",
      "waitingStreams",
      "receiveWindow",
      "keyExchangeGroup",
    ],
  },
  EndpointStats: {
    text: "Counters of an endpoint.",
    from: "engine",
    fields: ["handshakes", "refused", "retried", "failedHandshakes", "receiveBuffer", "sendBuffer", "askedBuffer"],
  },
};

/** One number for all that both sides have to agree on: the tables above, and the functions of the engine with their arguments. */
function layout() {
  const native = readFileSync(join(root, "packages/quic/src/native.ts"), "utf8");
  const functions = native.match(/^(?:export )?interface Native\w+ \{$.*?^\}$/gms);
  const agreed = JSON.stringify([kinds, constants, lists, functions]);
  return createHash("sha256").update(agreed).digest().readUInt32LE();
}

constants.LAYOUT = [
  layout(),
  "Number of these records, flags, lists and functions: an engine is used by TypeScript of the same number only.",
];

const HEAD = "// Written by scripts/native-layout.mjs (npm run layout). Do not edit.";
const snake = (name) => name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
const screaming = (name) => snake(name).toUpperCase();
const block = (lines) => lines.join("\n");

function typeScript() {
  const constant = ([name, [value, text]]) => block([`/** ${text} */`, `export const ${name} = ${value};`]);
  const list = ([name, { text, fields }]) =>
    block([
      `/** ${text} In the order in which they are passed. */`,
      `export const ${screaming(name)} = [`,
      ...fields.map((field) => `  "${field}",`),
      "] as const;",
    ]);
  const ofKinds = Object.entries(kinds).map(([name, described]) => constant([screaming(name), described]));
  return `${[HEAD, ...Object.entries(constants).map(constant), ...ofKinds, ...Object.entries(lists).map(list)].join("\n\n")}\n`;
}

function rust() {
  const constant = ([name, [value, text, type = "u32"]]) =>
    block([`/// ${text}`, `pub const ${name}: ${type} = ${value};`]);
  const kind = block([
    "/// Kinds of records, with their three words.",
    "#[derive(Clone, Copy, Debug, PartialEq, Eq)]",
    "#[repr(u32)]",
    "pub enum Kind {",
    ...Object.entries(kinds).map(([name, [value, text]]) => block([`    /// ${text}`, `    ${name} = ${value},`])),
    "}",
  ]);
  const list = ([name, { text, from, fields }]) => {
    const names = fields.map(snake);
    const struct = [
      `/// ${text}`,
      "#[derive(Clone, Copy, Debug, PartialEq)]",
      `pub struct ${name} {`,
      ...names.map((field) => `    pub ${field}: f64,`),
      "}",
      "",
      `impl ${name} {`,
    ];
    const body =
      from === "engine"
        ? [
            "    pub fn numbers(self) -> Vec<f64> {",
            "        vec![",
            ...names.map((field) => `            self.${field},`),
            "        ]",
            "    }",
          ]
        : [
            "    /// None where there are more or fewer numbers.",
            "    pub fn from_numbers(numbers: &[f64]) -> Option<Self> {",
            "        let &[",
            ...names.map((field) => `            ${field},`),
            "        ] = numbers",
            "        else {",
            "            return None;",
            "        };",
            `        Some(${name} {`,
            ...names.map((field) => `            ${field},`),
            "        })",
            "    }",
          ];
    return block([...struct, ...body, "}"]);
  };
  const purpose = "//! Records, flags and lists of numbers that JavaScript knows as well.";
  return `${[`${HEAD}\n\n${purpose}`, ...Object.entries(constants).map(constant), kind, ...Object.entries(lists).map(list)].join("\n\n")}\n`;
}

const files = {
  "packages/quic/src/native-layout.ts": typeScript(),
  "packages/quic/native/src/bridge/layout.rs": rust(),
};
for (const [name, text] of Object.entries(files)) {
  if (!process.argv.includes("--check")) writeFileSync(join(root, name), text);
  else if (readFileSync(join(root, name), "utf8") !== text) fail(`${name} is not what it would be now: npm run layout`);
}
