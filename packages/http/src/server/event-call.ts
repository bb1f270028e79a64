import type { RpcError } from "@quicrpc/core";
import { jsonBytes } from "../protocol/error-json.js";
import { HttpStreamedCall } from "./streamed-call.js";

/** Content type of server-sent events (HTML §9.2). */
export const EVENT_STREAM = "text/event-stream";
export const EVENTS_FIELDS: Readonly<Record<string, string>> = {
  "content-type": EVENT_STREAM,
  "cache-control": "no-store",
};
/** Id of the last event of a stream. A browser sends it when it reconnects, and the server then tells it to stop. */
export const LAST_EVENT_ID = "end";

/**
 * Sends a server stream as server-sent events: each item is an event with its JSON. The last event is `end`, or `error`
 * with the error's JSON.
 */
export class EventCall extends HttpStreamedCall {
  protected sendResult(): void {
    throw new TypeError("the method streams its output");
  }

  protected fields(): Readonly<Record<string, string>> {
    return EVENTS_FIELDS;
  }

  override item(item: unknown): void {
    const cursor = this.positions?.last;
    if (cursor !== undefined && !isEventId(cursor)) throw new TypeError(`an event cannot have the id ${cursor}`);
    super.item(item);
  }

  protected sendMessage(json: Uint8Array): void {
    const cursor = this.positions?.last;
    this.answerFlow.write(eventOf(cursor === undefined ? DATA : encoder.encode(`id: ${cursor}\ndata: `), json));
  }

  protected ending(error: RpcError | undefined): Uint8Array {
    return error === undefined ? lastEvent("end", new Uint8Array(0)) : this.endingOf(error);
  }

  protected endingOf(error: RpcError): Uint8Array {
    const json = jsonBytes(this.errorJson(error));
    // Without an id, a browser that reconnects continues after the last item.
    const goesOn = error.code === "unavailable" && this.positions !== undefined;
    return goesOn ? eventOf(encoder.encode("event: error\ndata: "), json) : lastEvent("error", json);
  }

  protected sendEnding(event: Uint8Array): void {
    this.answerFlow.write(event);
    this.answerFlow.finish();
  }
}

/**
 * Returns true if a browser that receives `id` as an event's id sends it back when it reconnects (HTML §9.2.6), and it
 * is not `LAST_EVENT_ID`.
 */
function isEventId(id: string): boolean {
  return id !== LAST_EVENT_ID && !/[\0\r\n]/.test(id);
}

function lastEvent(event: string, json: Uint8Array): Uint8Array {
  return eventOf(encoder.encode(`event: ${event}\nid: ${LAST_EVENT_ID}\ndata: `), json);
}

/** Returns the text of an event as bytes. The JSON must contain no line breaks. */
function eventOf(start: Uint8Array, json: Uint8Array): Uint8Array {
  const event = new Uint8Array(start.length + json.length + 2);
  event.set(start);
  event.set(json, start.length);
  event.fill(LINE_FEED, start.length + json.length);
  return event;
}

const encoder = new TextEncoder();
const DATA = encoder.encode("data: ");
const LINE_FEED = 0x0a;
