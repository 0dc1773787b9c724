package main

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

type devicesQuestion struct {
	placementQuestion
	Claims  []*resourcev1.ResourceClaim `json:"resourceclaims"`
	Classes []*resourcev1.DeviceClass   `json:"deviceclasses"`
	Slices  []*resourcev1.ResourceSlice `json:"resourceslices"`
}

// devices answers with what the scheduler's plugin for claims of devices has against each node.
func devices(asked devicesQuestion) (map[string][]string, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var objects []runtime.Object
	add(&objects, asked.Nodes)
	add(&objects, asked.Claims)
	add(&objects, asked.Classes)
	add(&objects, asked.Slices)
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	resources := factory.Resource().V1()
	claims := assumecache.NewAssumeCache(klog.Background(), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: resources.ResourceSlices(), KubeClient: client})
	if err != nil {
		return nil, err
	}
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, factory)
	snapshot := cache.NewSnapshot(asked.Pods, asked.Nodes)
	handle, err := frameworkruntime.NewFramework(ctx, nil, nil,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithSharedDRAManager(manager),
		frameworkruntime.WithInformerFactory(factory))
	if err != nil {
		return nil, err
	}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	plugin, err := dynamicresources.New(ctx, &config.DynamicResourcesArgs{}, handle, gates)
	if err != nil {
		return nil, err
	}
	seen := claims.AddEventHandler(clientcache.ResourceEventHandlerFuncs{})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	<-seen.HasSyncedChecker().Done()
	return judged(ctx, asked.placementQuestion, snapshot, []fwk.Plugin{plugin})
}
