package harness

// Annotations of a pod that tell the simulated kubelets of the local cluster what its containers do.
const (
	RunSeconds   = "localcluster.kubevoltracker.io/run-seconds"  // how long a main container runs
	InitSeconds  = "localcluster.kubevoltracker.io/init-seconds" // how long an init container runs
	StopSeconds  = "localcluster.kubevoltracker.io/stop-seconds" // how long a container takes to stop
	ExitCode     = "localcluster.kubevoltracker.io/exit-code"
	startSeconds = "localcluster.kubevoltracker.io/start-seconds" // how long a container takes to start
)
