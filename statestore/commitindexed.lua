-- The commit script for sessions with timers, an outbox or CDRs: what belongs to the record changes with it.
-- KEYS: session, index of timers, index of outboxes, stream of CDRs, count of CDRs: all of one partition.
-- ARGV: stamp expected ('' for none), record, TTL in ms (0: none), expiry in us, earliest timer in us (0: none), when the outbox is looked at
-- in us (0: it is empty), session key, CDRs.
-- Returns what the plain commit script does.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if now >= tonumber(ARGV[4]) then
  return -now
end
if redis.call('GETRANGE', KEYS[1], 0, 11) ~= ARGV[1] then
  return {now, redis.call('GET', KEYS[1])}
end
if ARGV[3] == '0' then
  redis.call('SET', KEYS[1], ARGV[2])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
for i = 2, 3 do
  if ARGV[i + 3] == '0' then
    redis.call('ZREM', KEYS[i], ARGV[7])
  else
    redis.call('ZADD', KEYS[i], ARGV[i + 3], ARGV[7])
  end
end
for i = 8, #ARGV do
  redis.call('XADD', KEYS[4], '*', 'n', redis.call('INCR', KEYS[5]), 'd', ARGV[i])
end
return now
