package reaper

import "syscall"

// prSetChildSubreaper of prctl(2).
const prSetChildSubreaper = 36

// adopt makes orphans below this process its children. The first process of a PID namespace has them anyway, but in a pod with
// shareProcessNamespace a container's first process is not that.
func adopt() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}
