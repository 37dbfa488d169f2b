package fact

// Space is how full a file system is. The size is the file system's own, which can differ from
// the volume's: it lacks what the file system needs for itself, and of a directory on a shared
// one it is that of all of it.
type Space struct {
	CapacityBytes  int64
	UsedBytes      int64
	AvailableBytes int64
	Inodes         int64 // 0 where the file system has none
	InodesUsed     int64
}
