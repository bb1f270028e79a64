// From a login to the permissions of a role: see docs/authentication.md.
import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

// #region schema
export const Auth = service("auth.v1.Auth", {
  login: rpc({
    input: z.object({ name: z.string(), password: z.string() }),
    output: z.object({ token: z.string() }),
    meta: { auth: "public" },
  }),
});
// #endregion schema
