package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type volumesQuestion struct {
	placementQuestion
	Claims      []*v1.PersistentVolumeClaim   `json:"persistentvolumeclaims"`
	Volumes     []*v1.PersistentVolume        `json:"persistentvolumes"`
	Classes     []*storagev1.StorageClass     `json:"storageclasses"`
	CSINodes    []*storagev1.CSINode          `json:"csinodes"`
	CSIDrivers  []*storagev1.CSIDriver        `json:"csidrivers"`
	Attachments []*storagev1.VolumeAttachment `json:"volumeattachments"`
}

var volumeFilters = []func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error){
	volumerestrictions.New,
	nodevolumelimits.NewCSI,
	func(ctx context.Context, _ runtime.Object, handle fwk.Handle, gates feature.Features) (fwk.Plugin, error) {
		return volumebinding.New(ctx, &config.VolumeBindingArgs{BindTimeoutSeconds: 600}, handle, gates)
	},
	volumezone.New,
}

// volumes answers with what the scheduler's plugins for volumes have against each node.
func volumes(asked volumesQuestion) (map[string][]string, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var objects []runtime.Object
	add(&objects, asked.Nodes)
	add(&objects, asked.Claims)
	add(&objects, asked.Volumes)
	add(&objects, asked.Classes)
	add(&objects, asked.CSINodes)
	add(&objects, asked.CSIDrivers)
	add(&objects, asked.Attachments)
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	snapshot := cache.NewSnapshot(asked.Pods, asked.Nodes)
	handle, err := frameworkruntime.NewFramework(ctx, nil, nil,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithInformerFactory(factory))
	if err != nil {
		return nil, err
	}
	plugins := []fwk.Plugin{}
	for _, build := range volumeFilters {
		made, err := build(ctx, nil, handle, feature.Features{EnableVolumeAttributesClass: true})
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, made)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return judged(ctx, asked.placementQuestion, snapshot, plugins)
}

// judged answers with what plugins have against each node.
func judged(ctx context.Context, asked placementQuestion, snapshot *cache.Snapshot, plugins []fwk.Plugin) (map[string][]string, error) {
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	answer := map[string][]string{}
	for _, node := range nodes {
		answer[node.Node().Name] = []string{}
	}
	state, chosen := framework.NewCycleState(), []fwk.FilterPlugin{}
	for _, made := range plugins {
		_, before := made.(fwk.PreFilterPlugin).PreFilter(ctx, state, asked.Pod, nodes)
		switch {
		case before.IsSkip():
		case before.IsSuccess():
			chosen = append(chosen, made.(fwk.FilterPlugin))
		default: // the scheduler asks no further
			for name := range answer {
				answer[name] = before.Reasons()
			}
			return answer, nil
		}
	}
	for _, plugin := range chosen {
		for _, node := range nodes {
			if status := plugin.Filter(ctx, state, asked.Pod, node); !status.IsSuccess() {
				answer[node.Node().Name] = append(answer[node.Node().Name], status.Reasons()...)
			}
		}
	}
	return answer, nil
}

func add[T runtime.Object](all *[]runtime.Object, some []T) {
	for _, each := range some {
		*all = append(*all, each)
	}
}
