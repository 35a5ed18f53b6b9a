-- KEYS[1] lease of a partition; ARGV: owner. Returns 1 when the owner had it.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
return 1
