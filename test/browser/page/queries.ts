import { defineMethod, type MethodDescriptor, uncheckedCodec } from "@quicrpc/core/generated";

/** The service that the page of React calls. */

const service = { name: "test.v1.React", id: 9 };
const number = uncheckedCodec<number>();

export const methods: {
  readonly double: MethodDescriptor<"unary", number, number, number, number>;
  readonly count: MethodDescriptor<"server_stream", number, number, number, number>;
  readonly add: MethodDescriptor<"unary", number, number, number, number>;
  readonly live: MethodDescriptor<"server_stream", undefined, string, string, string>;
  readonly follow: MethodDescriptor<"server_stream", undefined, { id: number }, { id: number }, { id: number }>;
} = {
  /** Answers when the test says so. */
  double: defineMethod(service, "unary", "double", { id: 1, input: number, output: number }),
  /** Gives an item whenever the test says so. */
  count: defineMethod(service, "server_stream", "count", { id: 2, input: number, output: number }),
  add: defineMethod(service, "unary", "add", { id: 3, input: number, output: number }),
  /** Says which server it is, and stays open. */
  live: defineMethod(service, "server_stream", "live", { id: 5, output: uncheckedCodec<string>() }),
  /** Goes on by itself, after a lost session. */
  follow: defineMethod(service, "server_stream", "follow", {
    id: 4,
    output: uncheckedCodec<{ id: number }>(),
    cursor: { field: "id" },
  }),
};
