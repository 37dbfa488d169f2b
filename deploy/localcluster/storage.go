package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// The provisioners, as storage classes and volumes name them.
const (
	csiDriver      = "csi.localcluster.kubevoltracker.io"
	nfsProvisioner = "nfs.localcluster.kubevoltracker.io"
)

// runStorage is the storage process: it does with API objects what a CSI driver, its
// sidecars and the kubelet's volume manager do, on the same events and with the same
// finalizers and annotations, except that there are no bytes behind the volumes.
func runStorage(args []string) error {
	flags := flag.NewFlagSet(storageDriver, flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "credentials")
	_ = flags.Parse(args)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = "localcluster-storage"
	config.QPS, config.Burst = 300, 600
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	factory := informers.NewSharedInformerFactory(client, 0)
	claims := factory.Core().V1().PersistentVolumeClaims()
	volumes := factory.Core().V1().PersistentVolumes()
	attachments := factory.Storage().V1().VolumeAttachments()
	provisioning := controller.NewProvisionController(ctx, client, csiDriver, &provisioner{attachments.Lister()},
		controller.AdditionalProvisionerNames([]string{nfsProvisioner}),
		controller.ClaimsInformer(claims.Informer()),
		controller.VolumesInformer(volumes.Informer()),
		controller.ClassesInformer(factory.Storage().V1().StorageClasses().Informer()),
		controller.LeaderElection(false),
		controller.AddFinalizer(true),
		// A deletion that came before the volume was detached is tried again soon.
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 5*time.Second)),
	)
	attaching := newWorker("attacher", attachments.Informer(), (&attacher{client, attachments.Lister()}).attach)
	resizing := newWorker("resizer", claims.Informer(), (&resizer{client, claims.Lister(), volumes.Lister()}).resize)

	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go attaching.run(ctx)
	go resizing.run(ctx)
	provisioning.Run(ctx)
	return nil
}

// worker calls a function for each object that an informer saw change, one at a time for
// each object, and again, later, after an error.
type worker struct {
	name  string
	queue workqueue.TypedRateLimitingInterface[string]
	sync  func(ctx context.Context, key string) error
}

func newWorker(name string, informer cache.SharedIndexInformer, sync func(context.Context, string) error) *worker {
	w := &worker{name: name, sync: sync, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 5*time.Second))}
	enqueue := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			w.queue.Add(key)
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
	})
	return w
}

func (w *worker) run(ctx context.Context) {
	context.AfterFunc(ctx, w.queue.ShutDown)
	for {
		key, stopped := w.queue.Get()
		if stopped {
			return
		}
		if err := w.sync(ctx, key); err != nil {
			logError(w.name, key, err)
			w.queue.AddRateLimited(key)
		} else {
			w.queue.Forget(key)
		}
		w.queue.Done(key)
	}
}
