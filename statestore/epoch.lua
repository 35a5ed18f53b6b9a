-- KEYS[1] last epoch given; ARGV: the highest epoch that the asker knows.
-- Returns the new epoch, the time in us, and the last one (0: none). All stay far under 2^53, where numbers of Lua are exact.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local epoch = math.max(last + 1, now, tonumber(ARGV[1]) + 1)
redis.call('SET', KEYS[1], string.format('%.0f', epoch))
return {epoch, now, last}
