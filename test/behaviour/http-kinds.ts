import { connect } from "node:http2";
import type { Session } from "@quicrpc/core";
import { createCallerSession } from "@quicrpc/core/transport";
import { type Fetch, http2Fetch, httpTransport } from "@quicrpc/http";
import { devCertificate, type DevCertificate, serve } from "@quicrpc/node";
import { http3Fetch } from "../http3-fetch.js";
import type { LocalKind } from "./kinds.js";
import { notHere, type Reasons, skipExcepted, skipper } from "./not-here.js";
import { Witness } from "./service.js";
import { servedOptions, sessionOptions } from "./session-options.js";

const NO_FRAMES = "the peer speaks HTTP, whose own misuse packages/http/test/hostile.test.ts tries";
const OWN_BUDGET = "each request has a memory of its own; limits.maxServerBytes bounds them all (packages/http/test)";
const NO_SESSION = "requests make no session, on which a server could call";

/** Titles of tests that calls over HTTP cannot pass, and why. */
const EXCEPTIONS: Reasons = [
  [
    /^C15 |^C64 (calls in progress|the side that drains|the drain deadline|both sides)|: a call that calls back$/,
    NO_SESSION,
  ],
  [/^C1 response metadata may come long/, "the metadata of a single answer comes with it"],
  [/^C56 a call that waits is cancelled/, "the test tells by the order of a lane which calls wait"],
  [/^C51 requests that hold limits.maxSessionBytes|^C76 by .*(items|answers) that nobody reads/, OWN_BUDGET],
  [/^C52 a request, a notification and an item/, "whether a notification was too large its sender is answered"],
  [/^add to the request's metadata, without/, "a request has header fields of its own, which are metadata too"],
  [/^C70 /, "requests tell no fingerprint of their schema: an error names the field, as any other that does not fit"],
  [/^C16 the callee ends first|^C28 a cancel after/, "the end of an answer is the end of its call"],
  [/^C22 |^C35 /, "so many requests at once wait for connections, or for places in one"],
  [
    /^C84 (a receiver that does not read|a source that fails|a caller that gives up while)/,
    "an upload is complete before its call is made: packages/http/test/uploads.test.ts and blob-client.test.ts",
  ],
  [/^C84 an answer's blob that nobody has read/, "it ends with its time: packages/http/test/downloads.test.ts"],
  [/^C78 /, "a caller over HTTP does not tell the server which answers it could not read"],
];

/** Behaviours that do not apply to HTTP/1.1 with the platform's `fetch`. */
const EXCEPTIONS_OF_FETCH: Reasons = [
  [
    /^C7 |^C28 (duplex: (the sending|aborted while))|^C32 client stream and duplex|^C13 |^C25 C28 |^C72 .*: duplex$|^C5[26] (too many|calls of every)/,
    "Node's `fetch` sends the head of a request with its first item",
  ],
  [/^C62 by .*|^C71 (items|bytes) /, "bytes that wait in the sockets of the system are its own to bound"],
];

/** Those of HTTP/2 alone. */
const EXCEPTIONS_OF_HTTP2: Reasons = [
  [/^C71 (items|bytes) that the caller has read/, "less waits than the test needs"],
];

/** Those of HTTP/3 alone. */
const EXCEPTIONS_OF_HTTP3: Reasons = [
  [/^C62 by lane|^C71 a long echo/, "a request has a stream of its own, with the window of the transport"],
];

const CODINGS = "HTTP has compressions of its own (packages/http/test/unary.test.ts)";

/** Behaviours that calls over HTTP cannot show, and why. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ["C15", NO_SESSION],
  ["C48", NO_FRAMES],
  ["C54", CODINGS],
  ["C57", NO_FRAMES],
  ["C58", NO_FRAMES],
  ["C59", NO_FRAMES],
  ["C60", CODINGS],
  ["C61", NO_FRAMES],
  ["C64", "of the server's side: test/serving/http.test.ts; a caller that drains makes no more calls"],
  ["C65", "a request waits in `fetch`, which says nothing of it"],
  ["C66", "what `fetch` and Node's HTTP keep is not counted"],
  ["C67", "certificates are those of `fetch`"],
  ["C68", "certificates are those of `fetch`; of the server's side: test/serving/http.test.ts"],
  ["C69", "a request carries one call, and nothing else"],
  ["C88", "an upload goes on before its call is made: packages/http/test/blob-client.test.ts"],
  ["C89", "the same"],
  ["C90", "of the server's side: packages/http/test/uploads.test.ts"],
  ["C77", "each request proves itself: test/serving/http.test.ts"],
  ["C91", "there is no session whose client proves its key"],
]);

/** Calls by `httpTransport` to `serve({ http: true })`. */
function overHttp(
  name: string,
  listen: string,
  own: Reasons,
  fetchOf: (certificate: DevCertificate) => Fetch & { close?(): void },
): LocalKind {
  return {
    name,
    exceptions,
    carriers: ["stream"],
    frameBytes: 0,
    tooLarge: /larger than 10000 bytes \(limits\.maxFrameBytes\)/,
    inHeaders: true,
    storesBlobs: true,
    join: () => notHere(NO_FRAMES),
    face: (transport) => transport,
    async connect(
      limits = {},
      { client: options = {}, server: theirs, witness = new Witness(), wrap, maxStreams } = {},
    ) {
      await skipExcepted([...EXCEPTIONS, ...own]);
      const skip = await skipper();
      if (wrap !== undefined || maxStreams !== undefined) await notHere(NO_SESSION);
      const { limits: ownLimits = limits, peer: _, via: _via, ...others } = options;
      if (Object.keys(others).length > 0) await notHere(`a caller over HTTP has no ${Object.keys(others).join(", ")}`);
      const certificate = await devCertificate();
      const { cert, key } = certificate;
      const serving = servedOptions(sessionOptions(witness, limits, theirs));
      const listener = await serve({ ...serving, listen: [listen], tls: { cert, key }, http: true });
      const fetch = fetchOf(certificate);
      const { host, protocol } = new URL(listener.urls[0] as string);
      const caller = httpTransport({ fetch, limits: ownLimits }).caller(
        `${protocol === "wss:" ? "https:" : "http:"}//${host}`,
      );
      const client = createCallerSession(caller);
      return {
        client,
        get server(): Session {
          return skip(NO_SESSION);
        },
        witness,
        serverLoad: () => listener.stats(),
        transport: client.transport,
        async close() {
          await client.close();
          fetch.close?.();
          await listener.close();
        },
      };
    },
  };
}

const hasEngine = process.env["QUICRPC_NO_ENGINE"] === undefined;

export const httpKinds: readonly LocalKind[] = [
  overHttp("HTTP/1.1", "http://127.0.0.1:0", EXCEPTIONS_OF_FETCH, () => (url, init) => fetch(url, init)),
  overHttp("HTTP/2", "wss://127.0.0.1:0/rpc", EXCEPTIONS_OF_HTTP2, ({ cert: ca }) => http2Fetch(connect, { ca })),
  ...(hasEngine
    ? [overHttp("HTTP/3", "https://127.0.0.1:0/rpc", EXCEPTIONS_OF_HTTP3, ({ hash }) => http3Fetch(hash))]
    : []),
];
