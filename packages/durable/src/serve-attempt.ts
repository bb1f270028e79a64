import { RpcError } from "@quicrpc/core";
import {
  Admission,
  type AttemptRequest,
  type BoundMethod,
  type ChannelSettings,
  type DispatchSettings,
  fullName,
  type IncomingContext,
  MethodTable,
  permit,
  principalOf,
  requireRoom,
  young,
} from "@quicrpc/core/internal";
import { MovingBudget } from "./moving-budget.js";
import { decodeResume } from "./pieces.js";
import { RESUMABLE_BYTES, ResumedCall } from "./resumed-call.js";
import type { ResumableCalls } from "./suspended-calls.js";
import { ServedAttempt } from "./served-attempt.js";

const NO_PREFIX = new Uint8Array(0);
const UNKNOWN_PRINCIPAL =
  "could not determine the principal of this call: give principal: (context) => context.connection.userId";

/**
 * Serves an attempt of a resumable call: starts the call, or continues the call with the same token. Throws `RpcError`
 * if the attempt is refused at once.
 */
export function serveAttempt(
  { carrier, callId, context, resume, bound, settings, dispatcher }: AttemptRequest,
  resumables: ResumableCalls,
): void {
  const { method } = bound;
  const { limits, budget, admission } = settings;
  const request = decodeResume(resume);
  const fields = { ...request, keepMs: Math.min(request.keepMs, limits.maxResumeMs) };
  const principal = principalOfCall(context, settings);
  const key = `${hex(fields.token)}/${fullName(method)}/${principal}`;
  const call = resumables.find(key);
  if (fields.epoch > 0) {
    if (call === undefined) throw unknown();
    const objection = call.objection(fields);
    if (objection !== undefined) throw objection;
  } else if (call !== undefined) {
    throw new RpcError("already_exists", "a call with this resumption token is already in progress", { refused: true });
  }
  if (call === undefined) requireRoom(budget, RESUMABLE_BYTES, "the call");
  const attempt = new ServedAttempt(carrier, callId, method, settings);
  attempt.enter();
  const suspension = { limits, budget, load: admission.load, peer: settings.peer };
  if (call === undefined) {
    const moving = new MovingBudget(budget);
    const newCall = new ResumedCall(key, principal, resumables, moving);
    resumables.add(newCall, suspension);
    const channel: ChannelSettings = {
      limits,
      prefix: NO_PREFIX,
      compression: undefined,
      budget,
      traffic: { extraCredit: 0 },
    };
    newCall.begin(attempt, fields, dispatcher(ownSettings(bound, settings, moving)), channel);
    return;
  }
  context.reply = { sendMetadata() {}, revoke: (error) => call.revoke(attempt, error) };
  attempt.onOver = young(() => {
    context.over();
    context.abort(new RpcError("cancelled", "the attempt to resume the call is over"));
  });
  const decided = attempt.decide();
  void permit(bound, context)
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
      (error: RpcError) => {
        // The decision may have failed after the attempt was left.
        if (attempt.isOver) return;
        attempt.refuse(error);
        if (error.code !== "unavailable") call.cancelIfDetached(error.code);
      },
    )
    .finally(decided);
}

function principalOfCall(context: IncomingContext<unknown>, settings: DispatchSettings<unknown>): string {
  try {
    return principalOf(settings.principal ?? settings.once?.options.principal, context, UNKNOWN_PRINCIPAL);
  } catch (error) {
    context.report(error);
    throw new RpcError("internal", "could not determine the principal of this call", { refused: true });
  }
}

/**
 * Returns the settings for serving the resumable call itself. They contain only its method, and do not depend on the
 * session that carries it.
 */
function ownSettings(
  { method, handler, authorize }: BoundMethod,
  settings: DispatchSettings<unknown>,
  budget: MovingBudget,
): DispatchSettings<unknown> {
  const { limits, onError } = settings;
  const { load } = settings.admission;
  const isRefusing = (): boolean => false;
  const admission = new Admission({ limits, loadShedder: undefined, load, onError, isRefusing, onIdle() {} });
  const table = MethodTable.of<unknown>([{ methods: [{ method, handler, authorize, extension: {} }] }]);
  return { ...settings, table, admission, itemsOf: settings.admission, budget, compression: undefined };
}

function unknown(): RpcError {
  const reason = "it began at another server or process, or no session carried it for too long";
  return new RpcError(
    "unavailable",
    `the call cannot be resumed, and may have run: this server does not have it: ${reason}`,
  );
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
