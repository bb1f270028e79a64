import { type CallExtension, defineMethod } from "@quicrpc/core/generated";
import { expect, it } from "vitest";
import { blobCalls } from "./generated.js";

const metered: CallExtension = { name: "metered", kinds: ["unary"], servedBy: "none", calling: (calling) => calling };

it("a method with blobs has no extension", () => {
  const service = { name: "test.v1.Extended", id: 7108 };
  const options = { id: 1, blobs: blobCalls({}), extension: metered };
  expect(() => defineMethod(service, "unary", "copy", options)).toThrow(
    "test.v1.Extended/copy cannot be metered: its messages have blobs",
  );
});
