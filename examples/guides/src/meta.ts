// Application metadata in the schemas of this program: see docs/calls.md.
import "@quicrpc/core";

// #region meta
declare module "@quicrpc/core" {
  interface MethodMeta {
    readonly auth?: "public";
    readonly scopes?: readonly string[];
  }
}
// #endregion meta
