package main

import (
	"fmt"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	_ "k8s.io/kubernetes/pkg/kubelet/allocation"
	allocation "k8s.io/kubernetes/pkg/kubelet/allocation/state"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction"
	eviction "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

type statsFunc = func(pod *v1.Pod) (stats.PodStats, bool)

//go:linkname buildSignalToRankFunc k8s.io/kubernetes/pkg/kubelet/eviction.buildSignalToRankFunc
func buildSignalToRankFunc(withImageFs, imageContainerSplitFs bool) map[eviction.Signal]func([]*v1.Pod, statsFunc)

//go:linkname updatePodFromAllocation k8s.io/kubernetes/pkg/kubelet/allocation.updatePodFromAllocation
func updatePodFromAllocation(pod *v1.Pod, allocated allocation.PodResourceInfo) (*v1.Pod, bool)

// Pods and their statistics are as the API and /stats/summary have them.
type evictionOrderQuestion struct {
	Signal  eviction.Signal  `json:"signal"`
	ImageFs bool             `json:"imageFs"`
	Split   bool             `json:"split"`
	Pods    []*v1.Pod        `json:"pods"`
	Stats   []stats.PodStats `json:"stats"`
}

// evictionOrder answers with the names of the pods, first to go first.
func evictionOrder(asked evictionOrderQuestion) ([]string, error) {
	measured := map[string]stats.PodStats{}
	for _, each := range asked.Stats {
		measured[each.PodRef.UID] = each
	}
	rank, known := buildSignalToRankFunc(asked.ImageFs, asked.Split)[asked.Signal]
	if !known {
		return nil, fmt.Errorf("no ranking for %q", asked.Signal)
	}
	for index, pod := range asked.Pods {
		asked.Pods[index], _ = updatePodFromAllocation(pod, allocated(pod))
	}
	rank(asked.Pods, func(pod *v1.Pod) (stats.PodStats, bool) {
		found, ok := measured[string(pod.UID)]
		return found, ok
	})
	names := []string{}
	for _, pod := range asked.Pods {
		names = append(names, pod.Name)
	}
	return names, nil
}

// allocated is what the kubelet keeps of a pod, of which the status shows the requests.
func allocated(pod *v1.Pod) allocation.PodResourceInfo {
	kept := allocation.PodResourceInfo{
		ContainerResources: map[string]v1.ResourceRequirements{}, PodLevelResources: pod.Spec.Resources,
	}
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if status.AllocatedResources != nil {
			kept.ContainerResources[status.Name] = v1.ResourceRequirements{Requests: status.AllocatedResources}
		}
	}
	if pod.Spec.Resources != nil && pod.Status.AllocatedResources != nil {
		kept.PodLevelResources = &v1.ResourceRequirements{Requests: pod.Status.AllocatedResources}
	}
	return kept
}
