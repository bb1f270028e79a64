import type { Code, RpcError } from "@quicrpc/core";
import { codeName, codeNamed } from "./codes.js";

/** A detail of an error in the JSON of the Connect protocol. */
export interface ErrorDetail {
  /** Full name of the protobuf message type; "quicrpc.Details" for details in MessagePack. */
  readonly type: string;
  /** Bytes of the message as base64, without padding. */
  readonly value: string;
  /** The message in JSON, for people to read. */
  readonly debug?: unknown;
  /** Name of the declared error. Only present in a detail whose type belongs to this library. */
  readonly reason?: string | undefined;
}

export interface ErrorJson {
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly ErrorDetail[];
}

/** Maximum number of details of one error that are read. */
export const MAX_DETAILS = 64;

/**
 * Converts an error to the JSON of the Connect protocol. `details` are the results of `structDetail` and
 * `packedDetail`.
 */
export function errorToJson({ code, message }: RpcError, details: readonly ErrorDetail[] = []): ErrorJson {
  return {
    code: codeName(code),
    ...(message !== "" && { message }),
    ...(details.length > 0 && { details }),
  };
}

/** An error read from JSON. Each of its parts may be missing. */
export interface ReceivedError {
  /** Undefined if the code is missing or unknown. */
  readonly code: Code | undefined;
  /** Undefined if the message is missing. */
  readonly message: string | undefined;
  readonly details: readonly ErrorDetail[];
}

/** Reads the valid parts of an error in JSON. Returns undefined if `json` is not an object. Never throws. */
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

/** Parses the bytes of a JSON text; returns undefined if they are malformed. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
