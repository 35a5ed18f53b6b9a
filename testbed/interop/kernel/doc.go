// Package kernel runs the peer of testbed/interop on the SCTP of the Linux kernel, whichever kernel this machine has:
// Debian's, with its sctp module, boots in a virtual machine whose one program is the peer.
//
//	test --Start--> qemu (emulates; no KVM)
//	  | \__ virtio-serial port: commands and events __/ |
//	  |                                                peer (C, kernel sockets)
//	protocol/transport --- tap device or qemu's own NAT --- eth0, eth1 ...
//
// Nothing is installed: Build says which Debian packages it lacks. Whoever started a machine ends it with interop.Peer.Kill;
// a forgotten one powers itself off after some minutes.
package kernel
