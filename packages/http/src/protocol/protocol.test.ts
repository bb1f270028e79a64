import { Metadata, RpcError, rpcError } from "@quicrpc/core";
import { defineMethod, zodCodec } from "@quicrpc/core/generated";
import zlib from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { codes } from "../../../../test/behaviour/tools.js";
import { readBase64, unpadded, urlSafe } from "./base64.js";
import { readBody } from "./body.js";
import { codeName, codeNamed, codeOfStatus, statusOf } from "./codes.js";
import { acceptedCoding, codingNamed, gzip } from "./compression.js";
import { connectDetails, withConnectDetails } from "./connect-details.js";
import { contentType } from "./content-type.js";
import { readContentType } from "./read-content-type.js";
import { readEndOfStream, writeEndOfStream, metadataFromJson, metadataToJson } from "./end-of-stream.js";
import { errorToJson, jsonBytes, readErrorJson } from "./error-json.js";
import { readGetQuery, writeGetQuery } from "./get-query.js";
import { readHeaders, TRAILER_PREFIX, writeHeaders } from "./headers.js";
import { packedDetail, readPackedDetail } from "./packed-detail.js";
import { type Json, readStruct, writeStruct } from "./struct.js";
import { readable, readStructDetail, structDetail } from "./struct-detail.js";
import { readTimeout, writeTimeout } from "./request-headers.js";
import { isCompleteZstd, zstd, zstdBy } from "./zstd.js";

const method = defineMethod({ name: "demo.v1.Demo", id: 1 }, "unary", "divide", {
  id: 1,
  input: zodCodec(z.number()),
  output: zodCodec(z.number()),
  errors: {
    DIVIDE_BY_ZERO: {
      code: "invalid_argument",
      details: zodCodec(z.object({ a: z.number(), at: z.date().optional() })),
    },
    TIRED: { code: "unavailable" },
  },
});

const key = fc.stringMatching(/^x-[a-z0-9_.-]{1,20}$/).filter((name) => !name.endsWith("-bin"));
const value = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);

describe("codes", () => {
  it("have a name and a status each, and Connect's spelling", () => {
    for (const code of codes) {
      expect(codeNamed(codeName(code))).toBe(code);
      expect(statusOf(code)).toBeGreaterThanOrEqual(400);
    }
    expect(codeName("cancelled")).toBe("canceled");
    expect([codeNamed("ok"), codeNamed(null), codeNamed("nonsense"), codeNamed(3)]).toEqual(Array(4).fill(undefined));
  });

  it("are inferred from the status of answers that name none", () => {
    const inferred = [400, 401, 403, 404, 429, 502, 503, 504, 418, 500, 302].map(codeOfStatus);
    expect(inferred).toEqual([
      "internal",
      "unauthenticated",
      "permission_denied",
      "unimplemented",
      "unavailable",
      "unavailable",
      "unavailable",
      "unavailable",
      "unknown",
      "unknown",
      "unknown",
    ]);
  });
});

describe("base64", () => {
  it("is read back, of either alphabet, padded or not", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        for (const text of [unpadded(bytes), urlSafe(bytes), Buffer.from(bytes).toString("base64")]) {
          expect([...(readBase64(text) as Uint8Array)]).toEqual([...bytes]);
        }
      }),
    );
    expect(readBase64("a")).toBeUndefined();
  });
});

describe("content types", () => {
  it("are read back", () => {
    for (const codec of ["json", "msgpack", "x.y-1"]) {
      for (const stream of [true, false]) {
        const type = { codec, stream };
        expect(readContentType(contentType(type))).toEqual(type);
      }
    }
  });

  it("are told from others", () => {
    expect(readContentType("Application/JSON; charset=UTF-8")).toEqual({ codec: "json", stream: false });
    expect(readContentType("application/json;charset=latin1")).toBeUndefined();
    for (const type of ["text/html", "", null, "application/", "application/x y"]) {
      expect(readContentType(type)).toBeUndefined();
    }
  });
});

describe("timeouts", () => {
  it("are read back", () => {
    expect([1, 0.2, 5000, 1e12].map(writeTimeout)).toEqual(["1", "1", "5000", "9999999999"]);
    expect([readTimeout("5000"), readTimeout(null)]).toEqual([5000, undefined]);
    for (const text of ["-1", "1.5", "", "12345678901", "x"]) expect(() => readTimeout(text)).toThrow(RpcError);
  });
});

describe("metadata", () => {
  it("is read back from headers, with bytes, in either place", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value)), fc.uint8Array(), (texts, bytes) => {
        const given = new Metadata([...new Map(texts), ["y-bin", bytes], ["y-bin", bytes]]);
        for (const prefix of ["", TRAILER_PREFIX] as const) {
          const headers = new Headers({ "content-type": "application/json", date: "today", "connect-x": "1" });
          writeHeaders(given, headers, prefix);
          expect(Array.from(readHeaders(headers, prefix), String).sort()).toEqual(Array.from(given, String).sort());
          expect(readHeaders(headers, prefix === "" ? TRAILER_PREFIX : "").size).toBe(0);
        }
        expect([...metadataFromJson(JSON.parse(JSON.stringify(metadataToJson(given))))]).toEqual([...given]);
      }),
    );
  });

  it("that a header cannot carry is refused, with the way out", () => {
    for (const init of [
      { x: "größe" },
      { x: " a" },
      { x: "a\nb" },
      { host: "a" },
      { "sec-x": "a" },
      { "trailer-x": "a" },
    ]) {
      expect(() => writeHeaders(new Metadata(init as Record<string, string>), new Headers())).toThrow(RpcError);
      expect(() => metadataToJson(new Metadata(init as Record<string, string>))).toThrow(RpcError);
    }
  });

  it("that is malformed is refused or passed over", () => {
    expect(() => readHeaders(new Headers({ "x-bin": "?" }))).toThrow(/base64/);
    expect(readHeaders(new Headers({ "quicrpc-x": "1", "x!y": "1" })).size).toBe(0);
    expect(metadataFromJson({ a: "b", c: [1], "connect-x": ["1"], d: ["1", "2"] }).getAll("d")).toEqual(["1", "2"]);
    expect(metadataFromJson(null).size + metadataFromJson("x").size).toBe(0);
  });
});

describe("queries", () => {
  it("are read back", () => {
    fc.assert(
      fc.property(fc.json(), fc.uint8Array(), (json, bytes) => {
        const text = { codec: "json", message: new TextEncoder().encode(json) };
        for (const given of [text, { codec: "msgpack", message: bytes, compression: "gzip" }]) {
          const read = readGetQuery(new URLSearchParams(writeGetQuery(given)));
          expect({ ...read, message: [...read.message] }).toEqual({
            compression: undefined,
            ...given,
            message: [...given.message],
          });
        }
      }),
    );
  });

  it("have their parameters in the order of the protocol", () => {
    const message = Uint8Array.of(255);
    expect(writeGetQuery({ codec: "msgpack", message, compression: "gzip" })).toBe(
      "connect=v1&base64=1&compression=gzip&encoding=msgpack&message=_w",
    );
  });

  it("of others are refused", () => {
    for (const query of [
      "",
      "encoding=json",
      "message=1",
      "encoding=json&message=1&connect=v2",
      "encoding=a&message=*&base64=1",
    ]) {
      expect(() => readGetQuery(new URLSearchParams(query))).toThrow(RpcError);
    }
  });
});

describe("compression", () => {
  it("is read back, up to a limit", async () => {
    const bytes = new Uint8Array(100_000).fill(7);
    const small = await gzip.compress(bytes);
    expect(small.length).toBeLessThan(1000);
    expect(await gzip.decompress(small, 100_000)).toEqual(bytes);
    await expect(gzip.decompress(small, 99_999)).rejects.toMatchObject({ code: "resource_exhausted" });
    for (const broken of [bytes, small.subarray(0, small.length - 9), new Uint8Array(0)]) {
      await expect(gzip.decompress(broken, 100_000)).rejects.toMatchObject({ code: "invalid_argument" });
    }
  });

  it("is chosen by name", () => {
    expect(["gzip", "GZip"].map((name) => codingNamed(name, [gzip]))).toEqual([gzip, gzip]);
    expect(acceptedCoding("GZIP", [gzip])).toBe(gzip);
    expect([codingNamed("identity", [gzip]), codingNamed(null, [gzip])]).toEqual([undefined, undefined]);
    expect(() => codingNamed("br", [gzip])).toThrow(/gzip, identity/);
    expect(acceptedCoding("br, gzip;q=0.5", [gzip])).toBe(gzip);
    expect(["", null, "identity, gzip", "gzip;q=0", "br"].map((list) => acceptedCoding(list, [gzip]))).toEqual(
      Array(5).fill(undefined),
    );
  });
});

describe("a body", () => {
  it("is read to its end, and no further than its limit", async () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);
    const body = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        start(controller) {
          for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
          controller.close();
        },
      });
    expect(await readBody(body(), 100)).toEqual(bytes);
    expect((await readBody(null, 1)).length).toBe(0);
    await expect(readBody(body(), 99)).rejects.toMatchObject({ code: "resource_exhausted" });
  });
});

describe("structs", () => {
  it("are read back", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ stringUnit: "grapheme" })),
        (object) => {
          const given = JSON.parse(JSON.stringify(object)) as Record<string, Json>;
          expect(readStruct(writeStruct(given))).toEqual(given);
        },
      ),
    );
  });

  it("are those of protobuf", () => {
    const hex = (object: { readonly [key: string]: Json }): string => Buffer.from(writeStruct(object)).toString("hex");
    expect(hex({ a: 1 })).toBe("0a0e0a0161120911000000000000f03f");
    expect(hex({ b: [true, null] })).toBe("0a0f0a0162120a32080a0220010a020800");
    expect(hex({ c: { d: "e" } })).toBe("0a110a0163120c2a0a0a080a016412031a0165");
  });

  it("that are none, or too deep, are refused", () => {
    expect(readStruct(Uint8Array.of(0x0a, 0x05, 1))).toBeUndefined();
    let deep: Json = 1;
    for (let i = 0; i < 102; i++) deep = [deep];
    expect(() => writeStruct({ deep })).toThrow(RangeError);
    expect(Object.getPrototypeOf(readStruct(writeStruct(JSON.parse('{"__proto__":{"a":1}}') as { a: 1 })))).toBe(
      Object.prototype,
    );
  });
});

describe("errors", () => {
  it("keep code and message, and read what others leave out", () => {
    for (const code of codes) {
      expect(readErrorJson(errorToJson(new RpcError(code, "why")))).toEqual({ code, message: "why", details: [] });
    }
    expect(readErrorJson({ code: null, message: 3, details: [1, { type: "a" }, { type: "a", value: "b" }] })).toEqual({
      code: undefined,
      message: undefined,
      details: [{ type: "a", value: "b" }],
    });
    for (const json of [null, 1, "a", []]) expect(readErrorJson(json)).toBeUndefined();
  });

  it("that are declared keep their details, in MessagePack and as a struct that people can read", () => {
    const at = new Date(0);
    const error = rpcError(method, "DIVIDE_BY_ZERO", { a: 4, at });
    const packed = packedDetail(error, method);
    expect(readPackedDetail([packed as never], method)).toEqual({ reason: "DIVIDE_BY_ZERO", details: { a: 4, at } });
    const plain = structDetail(rpcError(method, "DIVIDE_BY_ZERO", { a: 4 }), method);
    expect(plain?.debug).toEqual({ reason: "DIVIDE_BY_ZERO", details: { a: 4 } });
    expect(readStructDetail([plain as never], method)).toEqual({ reason: "DIVIDE_BY_ZERO", details: { a: 4 } });
    const tired = rpcError(method, "TIRED");
    expect(readPackedDetail([packedDetail(tired, method) as never], method)).toMatchObject({ reason: "TIRED" });
    expect(readStructDetail([structDetail(tired, method) as never], method)).toMatchObject({ reason: "TIRED" });
  });

  it("that do not fit their declaration lose the name, and not the details", () => {
    const error = new RpcError("invalid_argument", "", { reason: "DIVIDE_BY_ZERO", details: { a: "four" } });
    for (const [write, read] of [
      [packedDetail, readPackedDetail],
      [structDetail, readStructDetail],
    ] as const) {
      expect(read([write(error, method) as never], method)).toEqual({ reason: undefined, details: { a: "four" } });
      expect(write(new RpcError("internal", ""), method)).toBeUndefined();
      const undeclared = new RpcError("internal", "", { reason: "toString", details: [1] });
      expect(read([write(undeclared, method) as never], method)).toEqual({ reason: undefined, details: [1] });
    }
  });

  it("at the end of a stream come with trailers", () => {
    const trailers = new Metadata({ cost: "3", "raw-bin": Uint8Array.of(1) });
    const error = errorToJson(new RpcError("aborted", "why"));
    const end = readEndOfStream(writeEndOfStream({ error, trailers, refused: true }));
    expect(end).toMatchObject({ error: { code: "aborted", message: "why" }, refused: true });
    expect([...end.trailers]).toEqual([...trailers]);
    const good = readEndOfStream(writeEndOfStream({ error: undefined, trailers: new Metadata() }));
    expect(good).toMatchObject({ error: undefined, refused: false });
    expect(readEndOfStream(jsonBytes({ error: null })).error).toBeUndefined();
    for (const json of [[], null, { error: 3 }]) expect(() => readEndOfStream(jsonBytes(json))).toThrow(RpcError);
    expect(() => readEndOfStream(Uint8Array.of(0xff))).toThrow(RpcError);
  });

  it("have details that people can read", () => {
    const value = {
      at: new Date(0),
      big: 2n ** 70n,
      raw: Uint8Array.of(1),
      map: new Map([[1, new Set([2])]]),
      none: undefined,
    };
    expect(readable(value)).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      big: String(2n ** 70n),
      raw: "AQ==",
      map: [[1, [2]]],
    });
    expect(readable([Number.NaN, Number.POSITIVE_INFINITY, new Date(Number.NaN), undefined])).toEqual([
      "NaN",
      "Infinity",
      null,
      null,
    ]);
  });
});

describe("details in protobuf", () => {
  it("go with an error that is forwarded, and not with one that it caused", () => {
    const details = [{ type: "google.rpc.RetryInfo", value: Uint8Array.of(1) }];
    const error = withConnectDetails(new RpcError("unavailable", "later"), details);
    expect(connectDetails(RpcError.forward(RpcError.forward(error)))).toEqual(details);
    expect(connectDetails(new RpcError("internal", "another", { cause: error }))).toEqual([]);
  });
});

describe("zstd", () => {
  it("is there where the runtime has it", () => {
    expect([zstdBy(undefined), zstdBy({})]).toEqual([undefined, undefined]);
    expect(zstd !== undefined).toBe("createZstdCompress" in zlib);
  });

  it("is refused where the runtime lacks it, with what has it", () => {
    expect(() => codingNamed("zstd", [gzip])).toThrow(/"zstd" is not known here, but gzip, identity: .*Node 22\.15/);
    expect(() => codingNamed("br", [gzip])).toThrow(/"br" is not known here, but gzip, identity$/);
  });

  it.each([
    "28b52ffda0e09304005400001007070100fbff39c00202001007039f0407",
    "28b52ffd200529000068656c6c6f",
    "28b52ffd240529000068656c6c6fa36d9f88",
    "28b52ffd00585400001007070100fbff39c00202001007039f0407",
    "522a4d1802000000ffff28b52ffd200529000068656c6c6f",
  ])("that is cut off, or goes on, is no message: %s", (hex) => {
    const whole = Buffer.from(hex, "hex");
    expect(isCompleteZstd(whole)).toBe(true);
    const wrong = [...whole.keys()].map((length) => whole.subarray(0, length));
    // Two frames are one message, and the first of these has an end of its own.
    const cut = wrong.filter((part) => part.length !== 10 || !hex.startsWith("52"));
    expect(cut.map(isCompleteZstd)).not.toContain(true);
    expect(isCompleteZstd(Buffer.concat([whole, Uint8Array.of(1, 2, 3)]))).toBe(false);
  });

  it("is never read beyond its end", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => typeof isCompleteZstd(bytes) === "boolean"));
    const begun = fc.uint8Array({ maxLength: 40 }).map((rest) => Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, ...rest));
    fc.assert(fc.property(begun, (bytes) => typeof isCompleteZstd(bytes) === "boolean"));
  });

  it.each(zstd === undefined ? [] : [zstd])("is read back, up to a limit", async (coding) => {
    const bytes = new Uint8Array(300_000).fill(7);
    const small = await coding.compress(bytes);
    let held = 0;
    expect(await coding.decompress(small, 300_000, (piece) => (held += piece))).toEqual(bytes);
    expect([small.length < 10_000, held]).toEqual([true, 300_000]);
    await expect(coding.decompress(small, 299_999)).rejects.toMatchObject({ code: "resource_exhausted" });
    for (const broken of [small.subarray(0, small.length - 3), Uint8Array.of(1, 2, 3, 4, 5)]) {
      await expect(coding.decompress(broken, 300_000)).rejects.toMatchObject({ code: "invalid_argument" });
    }
  });
});
