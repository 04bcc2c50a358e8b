package main

import (
	"io/fs"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, in milliseconds.
const tcpUserTimeout = 18

// cutUnread has the kernel end connections whose peer has not taken what was
// sent to it within unreadTimeout, also when it says that it has no room
// (tcp(7), TCP_USER_TIMEOUT). Accepted connections inherit it from the listener.
func cutUnread(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(unreadTimeout.Milliseconds()))
	}); e != nil {
		return e
	}
	return err
}

// inode tells apart two files of the same size and time, as a renamed symbolic
// link swaps them.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
