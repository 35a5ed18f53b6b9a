package statestore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// target is a parsed URL.
type target struct {
	options *redis.Options // of the first host
	addrs   []string       // every host, with its port
}

// String names the servers without user and password.
func (t target) String() string { return strings.Join(t.addrs, ",") }

// parseURL reads the URL of Config: like any Redis URL, but with a list of hosts.
func parseURL(s string) (target, error) {
	scheme, rest, found := strings.Cut(s, "://")
	if !found || (scheme != "redis" && scheme != "rediss" && scheme != "unix") {
		return target{}, errors.New("must start with redis://, rediss:// (TLS) or unix://, like redis://127.0.0.1:6379/0")
	}
	if scheme == "unix" {
		o, err := redis.ParseURL(s)
		if err != nil {
			return target{}, redacted("must look like unix:///run/redis.sock", err)
		}
		return target{options: o, addrs: []string{o.Addr}}, nil
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	user, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	var t target
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return target{}, errors.New("has an empty host, must look like redis://host:port or redis://host:port,host:port")
		}
		o, err := redis.ParseURL(scheme + "://" + user + host + tail)
		if err != nil {
			return target{}, redacted("must look like redis://[user:password@]host:port[/db]", err)
		}
		if t.options == nil {
			t.options = o
		}
		t.addrs = append(t.addrs, o.Addr)
	}
	return t, nil
}

// redactURL hides the password of a URL, however wrong the rest of it is: it goes into errors.
func redactURL(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	scheme, user, found := strings.Cut(s[:at], "://")
	if !found {
		return "xxxxx" + s[at:]
	}
	if name, _, secret := strings.Cut(user, ":"); secret {
		user = name + ":xxxxx"
	}
	return scheme + "://" + user + s[at:]
}

// redacted keeps what a parser said only where it can not quote a password.
func redacted(rule string, err error) error {
	if text := err.Error(); strings.HasPrefix(text, "redis: ") {
		return fmt.Errorf("%s (%s)", rule, strings.TrimPrefix(text, "redis: "))
	}
	return errors.New(rule)
}
