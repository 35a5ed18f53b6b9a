// Package load tells which part of what this process may use of CPU time and memory is in use: within the limits of its control groups where it has
// some, else of the machine.
//
//	/proc/self/cgroup, mountinfo --> directories of the own group and of all groups above it, as far as they are mounted
//	   each of them with a limit:    use / limit          v2: cpu.max, cpu.stat, memory.max, memory.current, memory.stat
//	                                                      v1: cpu.cfs_quota_us, cpuacct.usage, memory.limit_in_bytes, ...
//	/proc/stat, /proc/meminfo    --> busy share of the CPUs that it may run on, share of memory that is not available
//	the largest of all these     --> Load
//
// A group's limit counts with the use of the whole group, since others in it use the limit up too. Of memory the inactive part of the page cache
// does not count: the kernel gives it back first.
//
// # Why no library
//
// containerd/cgroups reads statistics of a group whose path it is given, and brings protobuf and systemd's bus. automaxprocs, automemlimit and the Go
// runtime read limits and no use, of the own group or a part of those above. gopsutil and gosigar tell the machine's load or all counters of a group,
// but nothing of the limits above it. prometheus/procfs, which the metrics library brings, parses the files of /proc, but drops all of a file for one odd
// line, takes \040 in a path as it stands, and panics on a line of meminfo without a value. What is left to write is the whole of it.
//
// # Limits to know
//
// Groups are looked for once, in New: a process that is moved to another one later is measured in the old one. Limits are read each time. A GOMAXPROCS that
// is set lower by hand is not seen, nor is memory.high.
package load
