import { type Code, RpcError, type RpcErrorOptions } from "../errors.js";
import type { MessageCodec } from "./codec.js";

/** An error that a method declares: its code and, optionally, the codec of its details. */
export interface ErrorDescriptor<ItsCode extends Code = Code, Sent = undefined, Received = Sent> {
  readonly code: ItsCode;
  readonly details?: MessageCodec<Sent, Received> | undefined;
}

/** The errors that a method declares, by name. */
// oxlint-disable-next-line typescript/no-explicit-any -- unknown would not accept details of any types
export type MethodErrors = Readonly<Record<string, ErrorDescriptor<Code, any, any>>>;

/** Errors of a method that declares none. */
export type NoErrors = Readonly<Record<never, never>>;

/** The part of a method's descriptor that declares errors. */
export interface DeclaresErrors<Errors extends MethodErrors> {
  readonly errors: Errors;
}

/** The type of an error's details codec; `undefined` if it has no details. */
type DetailsCodec<Descriptor> = Descriptor extends { readonly details?: infer Codec } ? NonNullable<Codec> : undefined;
type SentDetails<Descriptor> =
  DetailsCodec<Descriptor> extends MessageCodec<infer Sent, infer _Received> ? Sent : undefined;
type ReceivedDetails<Descriptor> =
  DetailsCodec<Descriptor> extends MessageCodec<infer _Sent, infer Received> ? Received : undefined;

/** The errors of a method as its caller receives them: a union, discriminated by `reason` or `code`. */
export type RpcErrorOf<Errors extends MethodErrors> = {
  [Reason in keyof Errors & string]: RpcError & {
    readonly reason: Reason;
    readonly code: Errors[Reason]["code"];
    readonly details: ReceivedDetails<Errors[Reason]>;
  };
}[keyof Errors & string];

/** Arguments of `rpcError` after the error's name. */
export type ErrorArguments<Details> = undefined extends Details
  ? [details?: Details, options?: TypedErrorOptions]
  : [details: Details, options?: TypedErrorOptions];

/** Further options of a declared error. */
interface TypedErrorOptions extends Pick<RpcErrorOptions, "metadata" | "cause"> {
  /** Default: the error's name. */
  readonly message?: string;
}

/**
 * Creates an error that `method` declares, for its handler to throw: `throw rpcError(arithMethods.divide,
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
 * Returns true if `error` is one that `method` declares. TypeScript then narrows its `reason`, `code` and `details`.
 * The details match their schema: `reason` is only set if they do.
 */
export function isRpcErrorOf<Errors extends MethodErrors>(
  method: DeclaresErrors<Errors>,
  error: unknown,
): error is RpcErrorOf<Errors> {
  if (!(error instanceof RpcError) || error.reason === undefined) return false;
  return declaredError(method, error.reason)?.code === error.code;
}

/** Returns the declared error with this name. The name may come from the wire. */
export function declaredError(
  { errors }: DeclaresErrors<MethodErrors>,
  reason: string,
): MethodErrors[string] | undefined {
  return Object.hasOwn(errors, reason) ? errors[reason] : undefined;
}
