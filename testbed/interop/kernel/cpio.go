package kernel

import (
	"bytes"
	"fmt"
	"io/fs"
)

// The kinds of files in an archive, as stat has them.
const (
	modeFolder = 0o040755
	modeFile   = 0o100755
	modeLink   = 0o120777
)

// archive is a cpio archive in the format "newc", of which the kernel makes its first file system. Several, one behind the
// other, are as good as one. See Documentation/driver-api/early-userspace/buffer-format.rst of Linux.
type archive struct{ bytes.Buffer }

// add appends a file; its folder has to be there.
func (a *archive) add(name string, mode fs.FileMode, content []byte) {
	fields := []int{
		a.Len()/4 + 1, int(mode), 0, 0, 1, 0, len(content), // inode, mode, user, group, links, time, size
		0, 0, 0, 0, len(name) + 1, 0, // device, device of a device file, length of the name, checksum
	}
	a.WriteString("070701")
	for _, field := range fields {
		_, _ = fmt.Fprintf(a, "%08X", field) // never fails
	}
	a.WriteString(name + "\x00")
	a.align()
	a.Write(content)
	a.align()
}

// end appends what ends an archive, and gives all of it.
func (a *archive) end() []byte {
	a.add("TRAILER!!!", 0, nil)
	return a.Bytes()
}

func (a *archive) align() {
	for a.Len()%4 != 0 {
		a.WriteByte(0)
	}
}
