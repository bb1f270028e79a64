import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

// #region schema
export const Transfer = z.object({ from: z.string(), to: z.string(), cents: z.int().min(1) });

export const Bank = service("bank.v1.Bank", {
  /** Moves money, once. */
  transfer: rpc({
    input: Transfer,
    output: z.object({ id: z.string() }),
    once: true,
    errors: { TOO_POOR: { code: "failed_precondition" } },
  }),
  /** Says how much is on an account. */
  balance: rpc({ input: z.object({ account: z.string() }), output: z.object({ cents: z.int() }), readOnly: true }),
});
// #endregion schema
