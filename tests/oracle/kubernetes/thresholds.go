package main

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

type thresholdsQuestion struct {
	Enforce  []string          `json:"enforce"`
	Hard     map[string]string `json:"hard"`
	Soft     map[string]string `json:"soft"`
	Grace    map[string]string `json:"grace"`
	Reclaim  map[string]string `json:"reclaim"`
	ImageFs  bool              `json:"imageFs"`
	Split    bool              `json:"split"`
	Capacity int64             `json:"capacity"`
}

type threshold struct {
	Signal  evictionapi.Signal `json:"signal"`
	Value   int64              `json:"value"`
	Grace   int64              `json:"grace"` // nanoseconds
	Reclaim *int64             `json:"reclaim"`
}

type thresholdsAnswer struct {
	Error      string      `json:"error"`
	Thresholds []threshold `json:"thresholds"`
}

// thresholds answers with what the kubelet makes of its settings, for a capacity.
func thresholds(asked thresholdsQuestion) (thresholdsAnswer, error) {
	parsed, err := eviction.ParseThresholdConfig(asked.Enforce, asked.Hard, asked.Soft, asked.Grace, asked.Reclaim)
	if err != nil {
		return thresholdsAnswer{Error: err.Error()}, nil
	}
	// Its error is a warning: thresholds of containerfs in the settings are replaced.
	all, _ := eviction.UpdateContainerFsThresholds(parsed, asked.ImageFs, asked.Split)
	capacity := resource.NewQuantity(asked.Capacity, resource.BinarySI)
	answer := thresholdsAnswer{Thresholds: []threshold{}}
	for _, each := range all {
		if each.Operator == "" {
			continue // no threshold to copy: it is never met
		}
		one := threshold{
			Signal: each.Signal,
			Value:  evictionapi.GetThresholdQuantity(each.Value, capacity).Value(),
			Grace:  each.GracePeriod.Nanoseconds(),
		}
		if each.MinReclaim != nil {
			reclaim := evictionapi.GetThresholdQuantity(*each.MinReclaim, capacity).Value()
			one.Reclaim = &reclaim
		}
		answer.Thresholds = append(answer.Thresholds, one)
	}
	return answer, nil
}
