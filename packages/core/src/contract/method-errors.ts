import { type Code, RpcError, type RpcErrorOptions } from "../errors.js";
import type { MessageCodec } from "./codec.js";

/** A declared error of a method: its code and, optionally, the codec of its details. */
export interface ErrorDescriptor<ItsCode extends Code = Code, Sent = undefined, Received = Sent> {
  readonly code: ItsCode;
  readonly details?: MessageCodec<Sent, Received> | undefined;
}

/** Declared errors of a method, by the error's name. */
// oxlint-disable-next-line typescript/no-explicit-any -- unknown would not accept details of any types
export type MethodErrors = Readonly<Record<string, ErrorDescriptor<Code, any, any>>>;

export type NoErrors = Readonly<Record<never, never>>;

/** A method descriptor, as `rpcError` uses it: an object with declared errors. */
export interface DeclaresErrors<Errors extends MethodErrors> {
  readonly errors: Errors;
}

/** Type of the codec of an error's details; `undefined` if the error has no details. */
type DetailsCodec<Descriptor> = Descriptor extends { readonly details?: infer Codec } ? NonNullable<Codec> : undefined;
type SentDetails<Descriptor> =
  DetailsCodec<Descriptor> extends MessageCodec<infer Sent, infer _Received> ? Sent : undefined;
type ReceivedDetails<Descriptor> =
  DetailsCodec<Descriptor> extends MessageCodec<infer _Sent, infer Received> ? Received : undefined;

/** Union of the declared errors of a method, as its caller receives them. `reason` and `code` discriminate it. */
export type RpcErrorOf<Errors extends MethodErrors> = {
  [Reason in keyof Errors & string]: RpcError & {
    readonly reason: Reason;
    readonly code: Errors[Reason]["code"];
    readonly details: ReceivedDetails<Errors[Reason]>;
  };
}[keyof Errors & string];

/** Arguments of `rpcError` after the name of the error. */
export type ErrorArguments<Details> = undefined extends Details
  ? [details?: Details, options?: TypedErrorOptions]
  : [details: Details, options?: TypedErrorOptions];

interface TypedErrorOptions extends Pick<RpcErrorOptions, "metadata" | "cause"> {
  /** Error message. Default: the name of the error. */
  readonly message?: string;
}

/**
 * Creates a declared error of `method`, for its handler to throw: `throw rpcError(arithMethods.divide,
 * "DIVIDE_BY_ZERO", { a })`. The caller receives its name, code, message and details.
 */
export function rpcError<Errors extends MethodErrors, Reason extends keyof Errors & string>(
  method: DeclaresErrors<Errors>,
  reason: Reason,
  ...[details, options = {}]: ErrorArguments<SentDetails<Errors[Reason]>>
): RpcError {
  const { message = reason, metadata, cause } = options;
  const { code } = method.errors[reason] as ErrorDescriptor;
  return new RpcError(code, message, { reason, details, metadata, cause });
}

/**
 * Returns true if `error` is a declared error of `method`. TypeScript then narrows its `reason`, `code` and `details`.
 * The details always match their schema, because otherwise `reason` is not set.
 */
export function isRpcErrorOf<Errors extends MethodErrors>(
  method: DeclaresErrors<Errors>,
  error: unknown,
): error is RpcErrorOf<Errors> {
  if (!(error instanceof RpcError) || error.reason === undefined) return false;
  return declaredError(method, error.reason)?.code === error.code;
}

/** Returns the declared error with the name `reason`, or undefined. The name may come from the peer. */
export function declaredError(
  { errors }: DeclaresErrors<MethodErrors>,
  reason: string,
): MethodErrors[string] | undefined {
  return Object.hasOwn(errors, reason) ? errors[reason] : undefined;
}
