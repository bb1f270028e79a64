import { failsTransport } from "@quicrpc/fails-components";
import type { Contestant } from "../contestant.js";
import { quicrpc } from "./quicrpc.js";

export const failsComponents: Contestant = quicrpc({}, { scheme: "https", transports: [failsTransport()] });
