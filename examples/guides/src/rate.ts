// A limit of calls for each user: see docs/calls.md.
// #region rate
import { type Interceptor, RpcError } from "@quicrpc/core";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";

const limiter = new RateLimiterMemory({ points: 100, duration: 1 }); // 100 calls a second

/** For `serve({ authenticate, interceptors: [ratePerUser] })`, where `authenticate` returns a user's id. */
export const ratePerUser: Interceptor = async (call, next) => {
  try {
    await limiter.consume(String(call.context?.connection));
  } catch (limited) {
    const ms = (limited as RateLimiterRes).msBeforeNext;
    throw new RpcError("resource_exhausted", `too many calls: try again in ${ms} ms`, { refused: true });
  }
  return next(call);
};
// #endregion rate
