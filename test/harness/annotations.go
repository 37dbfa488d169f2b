package harness

const (
	InitSeconds = "localcluster.kubevoltracker.io/init-seconds"
)

const (
	ExitCode = "localcluster.kubevoltracker.io/exit-code"
)

const (
	StopSeconds = "localcluster.kubevoltracker.io/stop-seconds"
)

// The chapters of the month that decide a volume's state and its last use. Each leaves its
// volumes in the state that is to be compared at the end.

const startSeconds = "localcluster.kubevoltracker.io/start-seconds"

const RunSeconds = "localcluster.kubevoltracker.io/run-seconds"
