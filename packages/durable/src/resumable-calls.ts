import { type Caller, type CallOptions, RpcError } from "@quicrpc/core";
import type { AnyMethod, CallExtension } from "@quicrpc/core/generated";
import {
  type AnyAnswer,
  atEnd,
  type BaseCaller,
  callFailureOf as failureOf,
  type Calling,
  type CallingHost,
  type Carrier,
  type CarrierSettings,
  type ClientLimits,
  type Cursor,
  followAnswer,
  isEndOfSession,
  MemoryBudget,
  OutgoingCallStream,
  type PendingCall,
  type ReceiveFlow,
  type Resumption,
  scheduleAttempt,
  type StreamOpener,
  young,
} from "@quicrpc/core/internal";
import { type AttemptCall, attemptMethod, type AttemptOwner } from "./attempt-call.js";
import { DurableStream } from "./durable-stream.js";
import { encodeResume, TOKEN_BYTES } from "./pieces.js";

const NOTHING = new Uint8Array(0);
const MAX_KEEP_MS = 2 ** 31 - 1;

/** Client support for `resumable` methods: their calls continue on another session if their session is lost. */
export const resumableCalls: CallExtension = {
  name: "resumable",
  kinds: ["server_stream", "client_stream", "duplex"],
  servedBy: "durableRouter of @quicrpc/durable/generated",
  calling: (code) => {
    const calling = code as Calling;
    return {
      ...calling,
      around(base, method, input, options) {
        const caller = base as BaseCaller;
        const callOptions = options as CallOptions | undefined;
        const { resumption } = caller;
        if (resumption?.owner !== caller) return caller.begin(method, input, callOptions);
        return new ResumableCall(caller, resumption, calling, method, input, callOptions).answer;
      },
    };
  },
};

class DurableCallStream extends OutgoingCallStream {
  private readonly durable: DurableStream;

  constructor(durable: DurableStream, settings: CarrierSettings, opener: StreamOpener) {
    super(durable, settings, opener, false);
    this.durable = durable;
  }

  receiveFlow(): ReceiveFlow {
    return this.durable.receiveFlow;
  }

  fail(error: RpcError): void {
    this.settle(error);
  }
}

const budgets = new WeakMap<BaseCaller, MemoryBudget>();

function budgetOf(caller: BaseCaller, { maxSessionBytes }: ClientLimits): MemoryBudget {
  let budget = budgets.get(caller);
  if (budget === undefined) {
    budget = new MemoryBudget(maxSessionBytes, "limits.maxSessionBytes");
    budgets.set(caller, budget);
  }
  return budget;
}

function newToken(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
}

/**
 * A call that is carried by as many attempts as necessary, one after another on different sessions. Its own byte stream
 * outlives the attempts.
 */
class ResumableCall implements AttemptOwner, StreamOpener {
  /** The call whose result the application receives. */
  private readonly call: PendingCall;
  private readonly caller: BaseCaller;
  private readonly forMs: number;
  private readonly peer: string | undefined;
  private readonly method: AnyMethod;
  private readonly input: unknown;
  private readonly options: CallOptions;
  private readonly startedAt: number = Date.now();
  private token: Uint8Array = newToken();
  private readonly durable: DurableStream = new DurableStream(undefined, () => {});
  private epoch = 0;
  private failures = 0;
  private lostAt: number | undefined = undefined;
  /** True if the callee may have received the call. From then on the call is resumed instead of started again. */
  private mayHaveReached = false;
  private hasReceived = false;
  /**
   * The attempt that was started last (`running`), and the attempt that carries the stream (`pipe`). They are the same
   * once the callee has sent its position.
   */
  private running: AttemptCall | undefined = undefined;
  private pipe: AttemptCall | undefined = undefined;
  /** The session of the latest attempt. */
  private host: CallingHost | undefined = undefined;
  private stream: DurableCallStream | undefined = undefined;
  private isOver = false;
  private unsuspend: (() => void) | undefined = undefined;
  private stopWaiting: (() => void) | undefined = undefined;
  /** The attempt that waits for a session. */
  private waiting: AttemptCall | undefined = undefined;

  constructor(
    caller: BaseCaller,
    { forMs, peer }: Resumption,
    calling: Calling,
    method: AnyMethod,
    input: unknown,
    options: CallOptions = {},
  ) {
    this.caller = caller;
    this.forMs = options.resumeForMs ?? forMs;
    this.peer = peer;
    this.method = method;
    this.input = input;
    this.options = options;
    this.call = calling.create(method, options, input);
    atEnd(this.call, () => {
      if (!this.isOver) this.fail(new RpcError("cancelled", "the caller cancelled the call"));
    });
    this.attempt();
  }

  get answer(): AnyAnswer {
    return this.call.answer;
  }

  onCreated(attempt: AttemptCall): void {
    this.waiting = attempt;
  }

  onAttempt(attempt: AttemptCall, host: CallingHost): void {
    this.waiting = undefined;
    this.running = attempt;
    this.host = host;
    if (this.isOver) {
      attempt.cancel(new RpcError("cancelled", "the call is over"));
      return;
    }
    // A callee that resumes the call sends its position first.
    if (this.mayHaveReached) return;
    this.mayHaveReached = true;
    this.pipe = attempt;
    this.durable.carriedBy(attempt, 0, false);
    if (this.stream === undefined) this.begin(host);
  }

  onPiece(attempt: AttemptCall, cursor: Cursor): void {
    if (attempt !== this.running) return;
    this.hasReceived = true;
    this.failures = 0;
    this.lostAt = undefined;
    this.unsuspend?.();
    this.unsuspend = undefined;
    if (this.pipe !== attempt) {
      this.pipe = attempt;
      const { position } = cursor;
      const received = cursor.varint();
      cursor.position = position;
      this.durable.carriedBy(attempt, received, false);
    }
    this.durable.onPiece(cursor);
  }

  onAttemptOver(attempt: AttemptCall, error: RpcError | undefined, started: boolean, endedByPeer: boolean): void {
    this.waiting = undefined;
    if (started && this.running !== undefined && attempt !== this.running) return;
    this.running = undefined;
    this.pipe = undefined;
    this.durable.detach();
    if (this.isOver) this.finish();
    else
      this.onAttemptLost(
        error ?? new RpcError("internal", "the callee ended the call without a response"),
        endedByPeer,
        started,
      );
  }

  /**
   * Makes the call once without resumption, on a session that does not support attempts: over HTTP, or with
   * interceptors.
   */
  plain(caller: Caller): void {
    this.isOver = true;
    followAnswer(this.call, caller.start(this.method, this.input, this.remaining()));
    this.finish();
  }

  private begin(host: CallingHost): void {
    const { limits, schemas, peer, explain } = host;
    const settings: CarrierSettings = {
      ...host.settings,
      prefix: NOTHING,
      greeting: undefined,
      compression: undefined,
      traffic: { extraCredit: 0 },
      budget: budgetOf(this.caller, limits),
    };
    const carrierFor = (): Carrier => {
      this.stream = new DurableCallStream(this.durable, settings, this);
      return this.stream;
    };
    const attemptHost: CallingHost = {
      limits,
      settings,
      schemas,
      peer,
      explain,
      unreadable: (method, error) => host.unreadable(method, error),
      onUnauthenticated: () => host.onUnauthenticated?.(),
      carrierFor,
      datagramsForCalls: () => undefined,
    };
    this.call.start(attemptHost, this.input, this.remaining());
    // The call may fail before its stream exists, which would otherwise report its end.
    if (this.stream === undefined) this.fail(new RpcError("cancelled", "the call is over"));
  }

  /** Called when the caller has its result, or has cancelled the call. */
  onOver(): void {
    this.isOver = true;
    // The callee ends the attempt after it has been notified.
    if (this.running === undefined) this.finish();
  }

  private attempt(): void {
    const { token, options, forMs, durable } = this;
    const resumes = this.mayHaveReached;
    if (resumes) this.epoch++;
    const keepMs = Math.min(forMs, MAX_KEEP_MS);
    const { epoch } = this;
    const received = durable.resumeFrom();
    const { retained } = durable;
    this.running = undefined;
    // This object receives the outcome.
    void this.caller.begin(attemptMethod(this.method), this, {
      ...this.remaining(),
      // The first attempt has it in the request that it carries.
      metadata: resumes ? options.metadata : undefined,
      onceKey: undefined,
      from: undefined,
      onResponseMetadata: undefined,
      onTrailers: undefined,
      waitForReady: resumes ? undefined : options.waitForReady,
      resume: encodeResume({ token, epoch, keepMs, received, retained }),
    });
  }

  private remaining(): CallOptions {
    const { timeoutMs } = this.options;
    return {
      ...this.options,
      timeoutMs: timeoutMs === undefined ? undefined : timeoutMs - (Date.now() - this.startedAt),
    };
  }

  /** @param started true if the attempt had a session */
  private onAttemptLost(error: RpcError, endedByPeer: boolean, started: boolean): void {
    const { resumption } = this.caller;
    const { idempotent } = this.method;
    this.lostAt ??= Date.now();
    // The callee does not know the call, so it is unknown whether the call ran.
    const mayRepeat =
      endedByPeer && !this.hasReceived && (error.refused ? this.epoch === 0 : idempotent && this.epoch > 0);
    if (mayRepeat) this.startAfresh();
    else if (!endedByPeer && this.mayHaveReached && this.host?.departure?.final === true) {
      this.fail(serverHasShutDown(error));
      return;
    }
    const isRepeated = mayRepeat && !error.refused;
    const mayHelp =
      isEndOfSession(error) ||
      isRepeated ||
      (endedByPeer ? this.mayHaveReached && error.refused : this.mayHaveReached || started);
    const isLate = this.failures > 0 && Date.now() - this.lostAt > this.forMs;
    if (resumption === undefined || error.code !== "unavailable" || !mayHelp || isLate) {
      this.fail(error);
      return;
    }
    this.unsuspend ??= resumption.suspend((reason) => this.fail(reason));
    // A started call has its own watch.
    const end =
      this.stream === undefined
        ? {
            options: this.options,
            timeoutMs: this.remaining().timeoutMs,
            cancel: (reason: RpcError) => this.fail(reason),
          }
        : undefined;
    const stop = scheduleAttempt(
      this.failures++,
      () => {
        this.stopWaiting = undefined;
        this.attempt();
      },
      end,
    );
    this.stopWaiting = young(() => {
      this.stopWaiting = undefined;
      stop();
    });
  }

  private startAfresh(): void {
    this.mayHaveReached = false;
    this.epoch = 0;
    this.token = newToken();
  }

  private fail(error: RpcError): void {
    const { running } = this;
    this.isOver = true;
    this.running = undefined;
    running?.cancel(error);
    if (this.stream === undefined) this.call.end(failureOf(error, this.method, this.peer));
    else this.stream.fail(error);
    this.finish();
  }

  private finish(): void {
    this.stopWaiting?.();
    this.waiting?.drop();
    this.waiting = undefined;
    this.unsuspend?.();
    this.unsuspend = undefined;
    this.durable.endLocally(undefined);
  }
}

function serverHasShutDown(cause: RpcError): RpcError {
  const hint =
    "it may have run, as far as it got: let the server's drain take longer, or give the items cursors, by which streams move";
  return new RpcError("unavailable", "the server has shut down: the call cannot be resumed", {
    cause,
    hint,
  });
}
