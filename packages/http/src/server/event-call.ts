import type { RpcError } from "@quicrpc/core";
import type { ItemFlow } from "@quicrpc/core/transport";
import { jsonBytes } from "../protocol/error-json.js";
import { writeHeaders } from "../protocol/headers.js";
import { encodeMessage } from "../protocol/message.js";
import { AnswerFlow } from "./answer-flow.js";
import type { AnswerBody } from "./exchange.js";
import { HttpCall } from "./http-call.js";

/** The content type of server-sent events. */
export const EVENT_STREAM = "text/event-stream";
/** The id of a stream's last event: a browser sends it where it would begin anew, and is told that there is no more. */
export const LAST_EVENT_ID = "end";

/**
 * A server stream as server-sent events: each item is a message with its JSON, an event `end` comes last, or an event `error` with the
 * error's JSON.
 */
export class EventCall extends HttpCall {
  private readonly answerFlow: AnswerFlow = new AnswerFlow();
  private body: AnswerBody | undefined = undefined;

  get flow(): ItemFlow {
    return this.answerFlow;
  }

  sendMetadata(): void {
    if (!this.over) this.begin();
  }

  item(item: unknown): void {
    if (this.over) return;
    let json: Uint8Array;
    try {
      json = encodeMessage(this.outputCodec(), item, this.settings.limits.maxFrameBytes);
    } catch (error) {
      throw this.misfit(error);
    }
    this.begin();
    this.answerFlow.write(eventOf("data: ", json));
  }

  end(): void {
    if (this.over) return;
    try {
      this.begin();
    } catch (error) {
      this.fail(error);
      return;
    }
    this.last("end", new Uint8Array(0));
    this.finish();
  }

  protected sendResult(): void {
    throw new TypeError("the method streams its output");
  }

  protected sendError(error: RpcError): void {
    try {
      this.begin();
    } catch (unsendable) {
      this.tellHook(unsendable);
      this.beginWith(undefined);
    }
    this.last("error", jsonBytes(this.errorJson(error)));
  }

  protected override onLeft(): void {
    this.answerFlow.end();
    super.onLeft();
  }

  private last(event: string, json: Uint8Array): void {
    this.answerFlow.write(eventOf(`event: ${event}\nid: ${LAST_EVENT_ID}\ndata: `, json));
    this.answerFlow.finish();
  }

  private begin(): void {
    if (this.body !== undefined) return;
    const heads = this.context?.answerHeads;
    // Throws where it is too large.
    heads?.first();
    const headers = heads && new Headers();
    if (heads !== undefined && headers !== undefined) writeHeaders(heads.metadata, headers);
    this.beginWith(headers);
  }

  private beginWith(metadata: Headers | undefined): void {
    const fields = { "content-type": EVENT_STREAM, "cache-control": "no-store" };
    this.body = this.exchange.open({ status: 200, fields, metadata });
    this.answerFlow.start(this.body);
  }
}

/** JSON has no line breaks of its own. */
function eventOf(head: string, json: Uint8Array): Uint8Array {
  const start = encoder.encode(head);
  const event = new Uint8Array(start.length + json.length + 2);
  event.set(start);
  event.set(json, start.length);
  event.fill(LINE_FEED, start.length + json.length);
  return event;
}

const encoder = new TextEncoder();
const LINE_FEED = 0x0a;
