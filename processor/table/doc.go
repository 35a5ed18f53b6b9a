// Package table is what operators write into the state store: the entries of the station
// table and the channel pools of beams. It works on the records of processor/access and
// processor/call directly, beside processors that change them at the same time: each write
// compares the version that was read, and is made again when another came between.
package table
