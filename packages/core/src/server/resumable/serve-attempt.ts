import type { AnswerCarrier, RequestHandler } from "../../call/carrier.js";
import { itemQueue } from "../../call/items/item-stream.js";
import { fullName } from "../../contract/descriptor.js";
import { streamsInput, streamsOutput } from "../../contract/directions.js";
import { RpcError } from "../../errors.js";
import { RESUMABLE_BYTES } from "../../memory-budget.js";
import { requireRoom } from "../require-room.js";
import type { ChannelSettings } from "../../transport/channel.js";
import type { Head } from "../../wire/head.js";
import { decodeResume } from "../../wire/piece.js";
import { Admission } from "../admission.js";
import { IncomingContext } from "../context.js";
import type { DispatchSettings } from "../dispatch.js";
import { principalOf } from "../principal.js";
import { type BoundMethod, MethodTable } from "../router.js";
import { MovingBudget } from "./moving-budget.js";
import { ResumedCall } from "./resumed-call.js";
import { ServedAttempt } from "./served-attempt.js";
import { young } from "../../young.js";

const NO_PREFIX = new Uint8Array(0);
const UNKNOWN_PRINCIPAL =
  "could not determine the principal of this call: give principal: (context) => context.connection.userId";

/** A request that is an attempt of a resumable call. */
export interface AttemptRequest {
  readonly carrier: AnswerCarrier;
  readonly callId: number;
  readonly head: Head;
  readonly resume: Uint8Array;
}

/**
 * Serves an attempt: begins its call, or continues the call that has its token. Throws `RpcError` if it is refused at
 * once.
 *
 * @param dispatcher creates the dispatcher that serves the call itself
 */
export function serveAttempt<Context>(
  { carrier, callId, head, resume }: AttemptRequest,
  bound: BoundMethod<Context>,
  settings: DispatchSettings<Context>,
  dispatcher: (own: DispatchSettings<Context>) => RequestHandler,
): void {
  const { method, resumables } = bound;
  if (resumables === undefined) throw refusal("unimplemented", `calls of ${fullName(method)} are not resumable here`);
  const { limits, budget, admission } = settings;
  const asked = decodeResume(resume);
  const fields = { ...asked, keepMs: Math.min(asked.keepMs, limits.maxResumeMs) };
  const context = new IncomingContext(method, undefined, head.metadata, settings);
  const principal = whoseCall(context, settings);
  const key = `${hex(fields.token)}/${fullName(method)}/${principal}`;
  const call = resumables.find(key);
  if (fields.epoch > 0) {
    if (call === undefined) throw unknown();
    const objection = call.objection(fields);
    if (objection !== undefined) throw objection;
  } else if (call !== undefined) {
    throw refusal("already_exists", "another call has this token");
  }
  if (call === undefined) requireRoom(budget, RESUMABLE_BYTES, "the call");
  const attempt = new ServedAttempt(carrier, callId, method, settings);
  attempt.enter();
  const suspension = { limits, budget, load: admission.load, peer: settings.peer };
  if (call === undefined) {
    const moving = new MovingBudget(budget);
    const begun = new ResumedCall(key, principal, resumables, moving);
    resumables.add(begun, suspension);
    const channel: ChannelSettings = {
      limits,
      prefix: NO_PREFIX,
      compression: undefined,
      budget,
      traffic: { sentBytes: 0, extraCredit: 0 },
    };
    begun.begin(attempt, fields, dispatcher(ownSettings(bound, settings, moving)), channel);
    return;
  }
  context.resuming = true;
  context.reply = { sendMetadata() {}, revoke: (error) => call.revoke(attempt, error) };
  attempt.onOver = young(() => {
    context.over();
    context.abort(new RpcError("cancelled", "the attempt to resume the call is over"));
  });
  const decided = attempt.decide();
  void permitted(bound, context)
    .then(
      () => {
        if (attempt.isOver) return;
        const objection = resumables.find(key) === call ? call.objection(fields) : unknown();
        if (objection !== undefined) {
          attempt.refuse(objection);
          return;
        }
        call.resume(attempt, fields, budget);
        resumables.add(call, suspension);
      },
      (error: unknown) => {
        // The decision may have failed after the attempt was left.
        if (attempt.isOver) return;
        const isOwn = error instanceof RpcError && !error.fromCall;
        if (!isOwn) settings.onError(error, { method: fullName(method) });
        const told = isOwn ? error : new RpcError("internal", "the call could not be resumed");
        attempt.refuse(told);
        if (told.code !== "unavailable") call.forsake(told.code);
      },
    )
    .finally(decided);
}

function whoseCall<Context>(context: IncomingContext<Context>, settings: DispatchSettings<Context>): string {
  try {
    return principalOf(settings.principal ?? settings.once?.options.principal, context, UNKNOWN_PRINCIPAL);
  } catch (error) {
    settings.onError(error, { method: fullName(context.method) });
    throw new RpcError("internal", "could not determine the principal of this call", { refused: true });
  }
}

/** Returns the settings for serving the call itself: only its method, independent of the sessions that carry it. */
function ownSettings<Context>(
  { method, handler }: BoundMethod<Context>,
  settings: DispatchSettings<Context>,
  budget: MovingBudget,
): DispatchSettings<Context> {
  const { limits, onError } = settings;
  const { load } = settings.admission;
  const isRefusing = (): boolean => false;
  const admission = new Admission({ limits, loadShedder: undefined, load, onError, isRefusing, onIdle() {} });
  const table = MethodTable.of<Context>([{ methods: [{ method, handler }] }]);
  return { ...settings, table, admission, budget, compression: undefined };
}

/** Runs the interceptors around the method, as for a call of it; the handler itself is not entered. */
async function permitted<Context>(
  { method, handler }: BoundMethod<Context>,
  context: IncomingContext<Context>,
): Promise<void> {
  const result = await handler(streamsInput(method) ? nothing() : undefined, context);
  if (!streamsOutput(method)) return;
  // Lets interceptors handle the end of the stream.
  for await (const _ of result as AsyncIterable<unknown>);
}

function nothing(): unknown {
  const queue = itemQueue<unknown>({ onTaken() {}, onAbandoned() {} });
  queue.end(undefined);
  return queue.stream;
}

function unknown(): RpcError {
  const hint = "it began at another server or process, or no session carried it for too long: it may have run";
  return new RpcError("unavailable", "the call cannot be resumed: this server does not have it", { hint });
}

function refusal(code: "unimplemented" | "already_exists", text: string): RpcError {
  return new RpcError(code, text, { refused: true });
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
