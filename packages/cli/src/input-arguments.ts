import { readFileSync } from "node:fs";
import { RpcError } from "@quicrpc/core";
import { bytesCodec } from "@quicrpc/core/generated";
import { InvalidArgumentError } from "commander";
import { type DataField, withDataFields } from "./data-fields.js";
import { type RemoteMethod, takesItems } from "./find-method.js";

/**
 * An argument that is JSON, `@file` with JSON in it, or `-` for stdin. For methods that take raw bytes, the file's
 * bytes.
 */
export interface InputArgument {
  readonly json: () => unknown;
  /** Bytes of the file or of stdin, or undefined for JSON that was typed. */
  readonly bytes: Uint8Array | undefined;
}

/** Parses the argument. Throws `InvalidArgumentError` for a file that cannot be read, and for invalid JSON. */
export function parseInputArgument(text: string): InputArgument {
  const isTyped = text !== "-" && !text.startsWith("@");
  const wrong = (error: unknown): InvalidArgumentError =>
    new InvalidArgumentError(`It takes JSON, @file or -: ${(error as Error).message}.`);
  try {
    if (isTyped) {
      const value: unknown = JSON.parse(text);
      return { json: () => value, bytes: undefined };
    }
    const bytes = readFileSync(text === "-" ? 0 : text.slice(1));
    const json = (): unknown => {
      try {
        return JSON.parse(bytes.toString("utf8"));
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

/** Input of a call on the command line: an argument and fields. */
export class InputArguments {
  private readonly argument: InputArgument | undefined;
  private readonly fields: readonly DataField[];

  constructor(argument: InputArgument | undefined, fields: readonly DataField[] = []) {
    this.argument = argument;
    this.fields = fields;
  }

  /**
   * Returns the message of a method with a single input. Throws `RpcError` for a message that the method does not
   * accept.
   */
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

  /** Returns the given items of a stream, or undefined if they are read from stdin. */
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

/** Returns the items of a file: one list of them, or one item in each line, as on standard input. */
function listIn({ json, bytes }: InputArgument): unknown {
  const lines = String(bytes)
    .split("\n")
    .filter((line) => line.trim() !== "");
  try {
    if (lines.length > 1) return lines.map((line) => JSON.parse(line) as unknown);
  } catch {
    // A list that spans several lines, or no JSON, which `json` reports.
  }
  const all = json();
  return lines.length === 1 && !Array.isArray(all) ? [all] : all;
}

/** Converts a list of items. Throws `RpcError` if it is not a list. */
function itemsOf(method: RemoteMethod["method"], json: unknown, toInput: RemoteMethod["toInput"]): readonly unknown[] {
  if (Array.isArray(json)) return json.map(toInput);
  throw noItems(method);
}

function noItems({ name }: RemoteMethod["method"]): RpcError {
  return new RpcError("invalid_argument", `${name} takes a stream: pass a list of its items, as in '[1,2,3]'`);
}

/** Converts an input of `load`, which many calls use: a message, or the items of a stream. */
export function inputOf(remote: RemoteMethod, argument: InputArgument | undefined): unknown {
  const input = new InputArguments(argument);
  if (!takesItems(remote.method)) return input.message(remote);
  const items = input.items(remote);
  if (items === undefined) throw noItems(remote.method);
  return items;
}
