import type { Code, RpcError } from "@quicrpc/core";
import { codeName, codeNamed } from "./codes.js";

/** A detail of an error, as the Connect protocol has it in JSON. */
export interface ErrorDetail {
  /** The full name of a protobuf message, or `PACKED_TYPE`. */
  readonly type: string;
  /** The message's bytes as base64, without padding. */
  readonly value: string;
  /** The same for people to read. */
  readonly debug?: unknown;
  /** The name that the method declares the error under, in a detail of this library's own type. */
  readonly reason?: string | undefined;
}

/** An error as the Connect protocol has it in JSON. */
export interface ErrorJson {
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly ErrorDetail[];
}

/** The most details of one error that are read. */
const MAX_DETAILS = 64;

/** Returns an error as it is sent; `details` are those that `structDetail` and `packedDetail` have made of it. */
export function errorToJson({ code, message }: RpcError, details: readonly ErrorDetail[] = []): ErrorJson {
  return {
    code: codeName(code),
    ...(message !== "" && { message }),
    ...(details.length > 0 && { details }),
  };
}

/** An error that was read, whatever it left out. */
export interface ReceivedError {
  /** Undefined where it names none of the codes. */
  readonly code: Code | undefined;
  /** Undefined where there is none. */
  readonly message: string | undefined;
  readonly details: readonly ErrorDetail[];
}

/** Reads an error's JSON as far as it has the form of one; undefined for what is no object. Never throws. */
export function readErrorJson(json: unknown): ReceivedError | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const { code, message, details } = json as Readonly<Record<string, unknown>>;
  return {
    code: codeNamed(code),
    message: typeof message === "string" && message !== "" ? message : undefined,
    details: Array.isArray(details) ? details.slice(0, MAX_DETAILS).filter(isDetail) : [],
  };
}

function isDetail(given: unknown): given is ErrorDetail {
  if (typeof given !== "object" || given === null) return false;
  const { type, value } = given as Partial<Record<keyof ErrorDetail, unknown>>;
  return typeof type === "string" && typeof value === "string";
}

/** Returns the value of a text of JSON; undefined for what is none. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Returns a value as the bytes of its JSON. */
export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
