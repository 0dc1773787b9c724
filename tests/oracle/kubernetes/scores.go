package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type scoresQuestion struct {
	placementQuestion
	ReplicaSets []*appsv1.ReplicaSet `json:"replicaSets"`
	Services    []*v1.Service        `json:"services"`
	Passing     []string             `json:"passing"` // nodes that pass the filters
	Plugins     []string             `json:"plugins"`
}

// scores answers with what each plugin of the default profile gives each node that passes, times its weight.
func scores(asked scoresQuestion) (map[string]map[string]int64, error) {
	ctx := context.Background()
	snapshot := cache.NewSnapshot(asked.Pods, asked.Nodes)
	factory := informers.NewSharedInformerFactory(nil, 0)
	for _, each := range asked.Namespaces {
		factory.Core().V1().Namespaces().Informer().GetIndexer().Add(each)
	}
	for _, each := range asked.Services {
		factory.Core().V1().Services().Informer().GetIndexer().Add(each)
	}
	for _, each := range asked.ReplicaSets {
		factory.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(each)
	}
	handle, err := frameworkruntime.NewFramework(ctx, nil, nil,
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithInformerFactory(factory))
	if err != nil {
		return nil, err
	}
	passing := []fwk.NodeInfo{}
	for _, name := range asked.Passing {
		node, err := snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, err
		}
		passing = append(passing, node)
	}
	configured, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile, registry := configured.Profiles[0], plugins.NewInTreeRegistry()
	answer := map[string]map[string]int64{}
	for _, name := range asked.Plugins {
		make := registry[name]
		var plugin fwk.Plugin
		for _, each := range profile.PluginConfig {
			if each.Name == name {
				plugin, err = make(ctx, each.Args, handle)
			}
		}
		if plugin == nil && err == nil {
			plugin, err = make(ctx, nil, handle)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		given, err := givenBy(ctx, plugin.(fwk.ScorePlugin), asked.Pod, passing)
		if err != nil {
			return nil, err
		}
		answer[name] = map[string]int64{}
		for _, each := range profile.Plugins.MultiPoint.Enabled {
			for _, score := range given {
				if each.Name == name {
					answer[name][score.Name] = score.Score * int64(each.Weight)
				}
			}
		}
	}
	return answer, nil
}

// givenBy has a score of 0 for each node where the plugin is skipped.
func givenBy(ctx context.Context, plugin fwk.ScorePlugin, pod *v1.Pod, nodes []fwk.NodeInfo) (fwk.NodeScoreList, error) {
	found, state := fwk.NodeScoreList{}, framework.NewCycleState()
	skipped := false
	if before, has := plugin.(fwk.PreScorePlugin); has {
		status := before.PreScore(ctx, state, pod, nodes)
		if skipped = status.IsSkip(); !skipped && !status.IsSuccess() {
			return nil, status.AsError()
		}
	}
	for _, node := range nodes {
		score := int64(0)
		if !skipped {
			one, status := plugin.Score(ctx, state, pod, node)
			if !status.IsSuccess() {
				return nil, status.AsError()
			}
			score = one
		}
		found = append(found, fwk.NodeScore{Name: node.Node().Name, Score: score})
	}
	if !skipped && plugin.ScoreExtensions() != nil {
		if status := plugin.ScoreExtensions().NormalizeScore(ctx, state, pod, found); !status.IsSuccess() {
			return nil, status.AsError()
		}
	}
	return found, nil
}
