import { connect } from "@quicrpc/browser";
import { interceptCaller } from "@quicrpc/core";
import { createPageRouter, createWhiteboardClient } from "../generated/whiteboard.js";
import type { ServerInfo } from "../server/site.js";
import { Board } from "./board.js";
import { Chat } from "./chat.js";
import { byId } from "./dom.js";
import { Panel } from "./panel.js";
import { People } from "./people.js";
import { takePen } from "./pen.js";
import { keepUp } from "./retry.js";
import { acceptFiles } from "./upload.js";
import { myName } from "./name.js";

const panel = new Panel();
const people = new People();
const board = new Board();
/** Makes the participant's id, which outlives sessions and servers. */
const secret = crypto.randomUUID();

const connection = await open().catch((error: unknown) => {
  byId("status").dataset["status"] = "closed";
  byId("status").textContent = error instanceof Error ? error.message : String(error);
  throw error;
});
void panel.follow(connection);
const client = createWhiteboardClient(interceptCaller(connection, [panel.counting]));
const chat = new Chat(client);
takePen(board, (point) => {
  // Nobody waits for a cursor that could not be sent.
  client.point(point, { waitForReady: false }).catch(() => {});
});
acceptFiles(client);

/** Fires when the seat has to be taken anew: with another name, or on another session. */
let visit = new AbortController();
/** The session with the seat. */
let seatedOn: typeof connection.session;
const field = byId<HTMLInputElement>("name");
field.value = myName();
field.addEventListener("change", () => {
  field.value = myName(field.value);
  visit.abort();
});
void takeSeatAlong();
for (;;) {
  visit = new AbortController();
  await keepUp(visit.signal, () => join(visit.signal));
}

async function open(): ReturnType<typeof connect> {
  const { url, fallbackUrl, certificateHash } = (await (await fetch("/server.json")).json()) as ServerInfo;
  const value = Uint8Array.from(atob(certificateHash), (character) => character.charCodeAt(0));
  const router = createPageRouter({
    cursor: (cursor) => {
      panel.cursorCame(cursor.count);
      people.point(cursor);
    },
  });
  return connect(url, {
    serverCertificateHashes: [{ algorithm: "sha-256", value }],
    fallback: { url: fallbackUrl },
    routers: [router],
  });
}

/** Takes a seat, and takes part for as long as it has one. */
async function join(signal: AbortSignal): Promise<void> {
  const seat = new AbortController();
  const seated = AbortSignal.any([signal, seat.signal]);
  let begun = false;
  try {
    for await (const { people: present, ...identity } of client.join({ name: field.value, secret }, { signal })) {
      people.show(present);
      if (begun) continue;
      begun = true;
      seatedOn = connection.session;
      panel.visitBegan();
      void keepUp(seated, () => board.follow(client, identity, seated));
      void keepUp(seated, () => chat.follow(identity, seated));
    }
  } finally {
    seatedOn = undefined;
    seat.abort();
  }
}

/** The connection may move to a better session while the seat is on the former, as from a WebSocket to WebTransport. */
async function takeSeatAlong(): Promise<void> {
  for await (const { status } of connection.states()) {
    if (status === "ready" && seatedOn !== undefined && seatedOn !== connection.session) visit.abort();
  }
}
