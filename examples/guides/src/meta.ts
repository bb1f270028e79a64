// What schemas of this program say of their methods: see docs/calls.md.
import "@quicrpc/core";

// #region meta
declare module "@quicrpc/core" {
  interface MethodMeta {
    readonly auth?: "public";
    readonly scopes?: readonly string[];
  }
}
// #endregion meta
