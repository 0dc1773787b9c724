package main

import (
	"context"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type preemptionQuestion struct {
	placementQuestion
	Budgets []*policyv1.PodDisruptionBudget `json:"budgets"`
}

type target struct {
	Victims []string `json:"victims"` // names, the most important first
	Broken  int64    `json:"broken"`  // victims against their budgets
}

type preemptionAnswer struct {
	Passing    []string          `json:"passing"`    // nodes that take the pod as they are
	Ineligible string            `json:"ineligible"` // why it preempts nothing
	Targets    map[string]target `json:"targets"`
	Chosen     string            `json:"chosen"`
}

// The plugins of the default profile that need no storage and no devices, and what a profile must have.
var preemptionPlugins = []string{
	names.PrioritySort, names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity,
	names.NodePorts, names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity, names.DefaultBinder,
}

// noNominated has no pods that are nominated to a node.
type noNominated struct{ fwk.PodNominator }

func (noNominated) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// preemptionOf answers with what the plugin DefaultPreemption would end on each node, and where.
func preemptionOf(asked preemptionQuestion) (*preemptionAnswer, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	configured, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := configured.Profiles[0]
	var preemptionArgs runtime.Object
	for _, each := range profile.PluginConfig {
		if each.Name == names.DefaultPreemption {
			preemptionArgs = each.Args
		}
	}
	enabled := &profile.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(each config.Plugin) bool {
		return !slices.Contains(preemptionPlugins, each.Name)
	})
	snapshot := cache.NewSnapshot(asked.Pods, asked.Nodes)
	factory := informers.NewSharedInformerFactory(nil, 0)
	for _, each := range asked.Namespaces {
		if err := factory.Core().V1().Namespaces().Informer().GetIndexer().Add(each); err != nil {
			return nil, err
		}
	}
	handle, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithPodNominator(noNominated{}))
	if err != nil {
		return nil, err
	}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	preemption, err := defaultpreemption.New(ctx, preemptionArgs, handle, gates)
	if err != nil {
		return nil, err
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	answer := &preemptionAnswer{Passing: []string{}, Targets: map[string]target{}}
	state, statuses := framework.NewCycleState(), framework.NewDefaultNodeToStatus()
	only, before, _ := handle.RunPreFilterPlugins(ctx, state, asked.Pod)
	if !before.IsSuccess() {
		return answer, nil // no node is a candidate
	}
	for _, node := range nodes {
		name := node.Node().Name
		if !only.AllNodes() && !only.NodeNames.Has(name) {
			continue
		}
		if status := handle.RunFilterPluginsWithNominatedPods(ctx, state, asked.Pod, node); status.IsSuccess() {
			answer.Passing = append(answer.Passing, name)
		} else {
			statuses.Set(name, status)
		}
	}
	eligible, reason := preemption.PodEligibleToPreemptOthers(ctx, asked.Pod, statuses.Get(""))
	if answer.Ineligible = reason; !eligible || len(answer.Passing) > 0 {
		return answer, nil
	}
	potential, err := statuses.NodesForStatusCode(snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil || len(potential) == 0 {
		return answer, err
	}
	count := int32(len(potential))
	found, _, err := preemption.Evaluator.DryRunPreemption(ctx, state, asked.Pod, potential, asked.Budgets, 0, count)
	if err != nil || len(found) == 0 {
		return answer, err
	}
	for _, each := range found {
		victims := []string{}
		for _, pod := range each.Victims().Pods {
			victims = append(victims, pod.Name)
		}
		answer.Targets[each.Name()] = target{victims, each.Victims().NumPDBViolations}
	}
	answer.Chosen = preemption.Evaluator.SelectCandidate(ctx, found).Name()
	return answer, nil
}
