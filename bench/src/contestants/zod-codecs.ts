import { zodCodec } from "@quicrpc/core/generated";
import { messagesMethods } from "../generated/messages.js";
import { Messages } from "../messages.service.js";
import { quicrpc } from "./quicrpc.js";

const { user, points } = Messages.methods;

/** quicrpc without compiled codecs: messages are packed by msgpackr and validated by zod, in both directions. */
export const zodCodecs = quicrpc(
  {},
  {
    messages: {
      user: { ...messagesMethods.user, input: zodCodec(user.input), output: zodCodec(user.output) },
      points: { ...messagesMethods.points, input: zodCodec(points.input), output: zodCodec(points.output) },
    },
  },
);
