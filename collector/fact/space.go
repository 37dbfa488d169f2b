package fact

// Space is how full a file system is. The size is the file system's own, which can differ from the
// volume's: it leaves out the file system's overhead, and for a directory on a shared file system
// it is the size of the whole file system.
type Space struct {
	CapacityBytes  int64
	UsedBytes      int64
	AvailableBytes int64
	Inodes         int64 // 0 if the file system has none
	InodesUsed     int64
}
