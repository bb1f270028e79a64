import { type AnyAnswer, BaseCaller } from "../call/base-caller.js";
import type { CallOptions } from "../call/options.js";
import { whenOver } from "../call/when-over.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { Session } from "../session/session.js";

/** A session of a pool: counts the calls in progress, and tells what each came to. */
export class PooledSession<S extends Session> extends BaseCaller {
  readonly session: S;
  /** Calls in progress; notifications are over at once. */
  calls = 0;
  private readonly onOver: (error: unknown) => void;

  /** @param onOver called for each call that is over: with its error, or undefined when it went well */
  constructor(session: S, onOver: (error: unknown) => void) {
    super();
    this.session = session;
    this.onOver = onOver;
  }

  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer {
    const answer = this.session.start(method, input, options) as AnyAnswer;
    if (method.kind === "notify") return answer;
    this.calls++;
    return whenOver(method, answer, (error) => {
      this.calls--;
      this.onOver(error);
    });
  }
}
