-- KEYS: session, index of timers, index of outboxes; ARGV: stamp expected ('' for none), earliest timer in us (0: none), when the outbox is looked
-- at in us (0: it is empty), session key. Makes the indexes agree with the record, if it is the expected one. Returns 1 when it is.
if redis.call('GETRANGE', KEYS[1], 0, 11) ~= ARGV[1] then
  return 0
end
for i = 2, 3 do
  if ARGV[i] == '0' then
    redis.call('ZREM', KEYS[i], ARGV[4])
  else
    redis.call('ZADD', KEYS[i], ARGV[i], ARGV[4])
  end
end
return 1
