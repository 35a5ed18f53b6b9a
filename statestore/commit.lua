-- KEYS[1] session; ARGV: stamp expected ('' for none), record, TTL in ms, expiry in us.
-- Returns the time in us when written, the time negated when past the expiry, {time, record there or false} when the stamp differs.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if now >= tonumber(ARGV[4]) then
  return -now
end
if redis.call('GETRANGE', KEYS[1], 0, 11) ~= ARGV[1] then
  return {now, redis.call('GET', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return now
