import { createHash } from "node:crypto";

/** A Lua script that Redis runs atomically. */
export interface Script {
  readonly text: string;
  readonly sha1: string;
}

function script(text: string): Script {
  return { text, sha1: createHash("sha1").update(text).digest("hex") };
}

/**
 * Start of a Lua script: sets `now` to the time in milliseconds. The hash of a call has the fields o (owner), f
 * (fingerprint of the input), l (end of the lease) and r (stored result).
 */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

const OWNED = `
local owned = redis.call('HMGET', KEYS[1], 'o', 'r')
if owned[1] ~= ARGV[1] or owned[2] then return 0 end
`;

/**
 * Script that claims a call. Arguments: owner, fingerprint, lease in ms, retention in ms, "1" if the call may start.
 */
export const CLAIM: Script = script(`${NOW}
local call = redis.call('HMGET', KEYS[1], 'o', 'f', 'l', 'r')
if call[1] then
  if call[4] then return {'done', call[2], call[4]} end
  if tonumber(call[3]) > now then return {'running', call[2]} end
  return {'lost', call[2]}
end
if ARGV[5] == '0' then return {'absent'} end
redis.call('HSET', KEYS[1], 'o', ARGV[1], 'f', ARGV[2], 'l', now + tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {'claimed'}
`);

/** Script that renews the lease of a call. Arguments: owner, lease in ms. */
export const RENEW: Script = script(`${OWNED}${NOW}
redis.call('HSET', KEYS[1], 'l', now + tonumber(ARGV[2]))
return 1
`);

/** Script that stores the result of a call. Arguments: owner, result. */
export const SETTLE: Script = script(`${OWNED}
redis.call('HSET', KEYS[1], 'r', ARGV[2])
return 1
`);

/** Script that gives up the claim to a call. Argument: owner. */
export const RELEASE: Script = script(`${OWNED}
return redis.call('DEL', KEYS[1])
`);
