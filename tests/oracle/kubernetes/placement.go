package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

func init() {
	metrics.InitMetrics() // of the goroutines of a plugin, which panics without
}

type placementQuestion struct {
	Namespaces []*v1.Namespace `json:"namespaces"`
	Nodes      []*v1.Node      `json:"nodes"`
	Pods       []*v1.Pod       `json:"pods"` // each on a node
	Pod        *v1.Pod         `json:"pod"`
}

type filter interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
}

var filters = []struct {
	make func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	args runtime.Object
}{
	{nodeaffinity.New, &config.NodeAffinityArgs{}},
	{nodeports.New, nil},
	{podtopologyspread.New, &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}},
	{interpodaffinity.New, &config.InterPodAffinityArgs{}},
}

// placement answers with what the scheduler's plugins for places and neighbours have against each node.
func placement(asked placementQuestion) (map[string][]string, error) {
	ctx := context.Background()
	snapshot := cache.NewSnapshot(asked.Pods, asked.Nodes)
	factory := informers.NewSharedInformerFactory(nil, 0)
	known := factory.Core().V1().Namespaces().Informer().GetIndexer()
	for _, each := range asked.Namespaces {
		if err := known.Add(each); err != nil {
			return nil, err
		}
	}
	handle, err := frameworkruntime.NewFramework(ctx, nil, nil,
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithInformerFactory(factory))
	if err != nil {
		return nil, err
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	answer := map[string][]string{}
	for _, node := range nodes {
		answer[node.Node().Name] = []string{}
	}
	gates := feature.Features{
		EnableNodeInclusionPolicyInPodTopologySpread: true,
		EnableMatchLabelKeysInPodTopologySpread:      true,
		EnableSidecarContainers:                      true,
	}
	for _, each := range filters {
		made, err := each.make(ctx, each.args, handle, gates)
		if err != nil {
			return nil, err
		}
		plugin, state := made.(filter), framework.NewCycleState()
		_, before := plugin.PreFilter(ctx, state, asked.Pod, nodes)
		if before.IsSkip() {
			continue
		}
		for _, node := range nodes {
			status := before
			if status.IsSuccess() {
				status = plugin.Filter(ctx, state, asked.Pod, node)
			}
			if !status.IsSuccess() {
				answer[node.Node().Name] = append(answer[node.Node().Name], status.Reasons()...)
			}
		}
	}
	return answer, nil
}
