package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

type fitQuestion struct {
	Node *v1.Node  `json:"node"`
	Pods []*v1.Pod `json:"pods"` // on the node
	Pod  *v1.Pod   `json:"pod"`
}

type insufficient struct {
	Resource  v1.ResourceName `json:"resource"`
	Reason    string          `json:"reason"`
	Requested int64           `json:"requested"`
	Used      int64           `json:"used"`
	Capacity  int64           `json:"capacity"`
}

// fit answers with what the scheduler's plugin NodeResourcesFit finds lacking, in no order.
func fit(asked fitQuestion) ([]insufficient, error) {
	node := framework.NewNodeInfo(asked.Pods...)
	node.SetNode(asked.Node)
	options := noderesources.ResourceRequestsOptions{EnablePodLevelResources: true}
	answer := []insufficient{}
	for _, each := range noderesources.Fits(asked.Pod, node, nil, options) {
		answer = append(answer, insufficient{
			Resource: each.ResourceName, Reason: each.Reason,
			Requested: each.Requested, Used: each.Used, Capacity: each.Capacity,
		})
	}
	return answer, nil
}
