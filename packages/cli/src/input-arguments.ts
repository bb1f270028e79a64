import { readFileSync } from "node:fs";
import { RpcError } from "@quicrpc/core";
import { bytesCodec } from "@quicrpc/core/generated";
import { streamsInput } from "@quicrpc/core/internal";
import { InvalidArgumentError } from "commander";
import { type DataField, withDataFields } from "./data-fields.js";
import type { RemoteMethod } from "./find-method.js";
import { parseJson } from "./parse-json.js";

/**
 * A command-line argument with the input of a call: JSON, `@file` with JSON in the file, or `-` for stdin. For methods
 * that accept raw bytes, the bytes of the file.
 */
export interface InputArgument {
  readonly json: () => unknown;
  /** Bytes of the file or of stdin. Undefined if the argument itself is JSON. */
  readonly bytes: Uint8Array | undefined;
}

export function parseInputArgument(text: string): InputArgument {
  const isTyped = text !== "-" && !text.startsWith("@");
  const wrong = (error: unknown): InvalidArgumentError =>
    new InvalidArgumentError(`It takes JSON, @file or -: ${(error as Error).message}.`);
  try {
    if (isTyped) {
      const value = parseJson(text);
      return { json: () => value, bytes: undefined };
    }
    const bytes = readFileSync(text === "-" ? 0 : text.slice(1));
    const json = (): unknown => {
      try {
        return parseJson(bytes.toString("utf8"));
      } catch (error) {
        const name = text === "-" ? "standard input" : text.slice(1);
        throw new RpcError("invalid_argument", `${name} is not valid JSON: ${(error as Error).message}`);
      }
    };
    return { json, bytes };
  } catch (error) {
    throw wrong(error);
  }
}

/** Input of a call on the command line: an argument, and fields such as `name=value`. */
export class InputArguments {
  private readonly argument: InputArgument | undefined;
  private readonly fields: readonly DataField[];

  constructor(argument: InputArgument | undefined, fields: readonly DataField[] = []) {
    this.argument = argument;
    this.fields = fields;
  }

  message(remote: RemoteMethod): unknown {
    const { argument, fields } = this;
    const { method, inputSchema, toInput } = remote;
    if (method.input === undefined) {
      if (argument === undefined && fields.length === 0) return undefined;
      throw new RpcError("invalid_argument", `${method.service.name}/${method.name} takes no input`);
    }
    if (method.input === bytesCodec) {
      if (argument?.bytes !== undefined && fields.length === 0) return argument.bytes;
      throw new RpcError("invalid_argument", `${method.name} takes raw bytes: pass them as @file, or - for stdin`);
    }
    const json = argument?.json();
    return toInput(fields.length === 0 ? json : withDataFields(json, fields, inputSchema));
  }

  /** Returns the items of a stream on the command line. Returns undefined if the items must be read from stdin. */
  items({ method, toInput }: RemoteMethod): Iterable<unknown> | undefined {
    const { argument, fields } = this;
    if (fields.length > 0)
      throw new RpcError(
        "invalid_argument",
        `${method.name} takes a stream: --data-field only works for a single message`,
      );
    if (argument === undefined) return undefined;
    if (method.input === bytesCodec && argument.bytes !== undefined) return [argument.bytes];
    return itemsOf(method, argument.bytes === undefined ? argument.json() : listIn(argument), toInput);
  }
}

/** Returns the items in a file, which contains a JSON list, or one JSON value on each line. */
function listIn({ json, bytes }: InputArgument): unknown {
  const lines = String(bytes)
    .split("\n")
    .filter((line) => line.trim() !== "");
  try {
    if (lines.length > 1) return lines.map((line) => parseJson(line));
  } catch {
    // The text is a list on several lines, or is not JSON. In the latter case `json` reports the error.
  }
  const all = json();
  return lines.length === 1 && !Array.isArray(all) ? [all] : all;
}

function itemsOf(method: RemoteMethod["method"], json: unknown, toInput: RemoteMethod["toInput"]): readonly unknown[] {
  if (Array.isArray(json)) return json.map(toInput);
  throw noItems(method);
}

function noItems({ name }: RemoteMethod["method"]): RpcError {
  return new RpcError("invalid_argument", `${name} takes a stream: pass a list of its items, as in '[1,2,3]'`);
}

/** Converts an input of the `load` command, which is used for many calls: a message, or the items of a stream. */
export function inputOf(remote: RemoteMethod, argument: InputArgument | undefined): unknown {
  const input = new InputArguments(argument);
  if (!streamsInput(remote.method)) return input.message(remote);
  const items = input.items(remote);
  if (items === undefined) throw noItems(remote.method);
  return items;
}
